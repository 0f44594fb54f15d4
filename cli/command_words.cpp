#include "cli/command_words.h"

#include "controller/quoted_word.h"

namespace gearshift {

std::string command_words(const CLI::App& command) {
  std::string words = "gearshift " + command.get_name();
  for (const CLI::Option* option : command.get_options()) {
    const bool is_flag = option->get_items_expected_max() == 0;
    for (const std::string& value : option->results()) {
      words += " " + option->get_name();
      if (is_flag && value == "true") continue;
      // A flag takes one value each time, and only so one that begins like a flag.
      const bool joined = is_flag || value.starts_with('-');
      words += (joined ? "=" : " ") + quoted_word(value);
    }
  }
  return words;
}

}  // namespace gearshift
