#include "cli/state_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "controller/quoted_word.h"

namespace gearshift {

std::filesystem::path default_state_folder() {
  if (geteuid() == 0) return "/var/lib/gearshift";
  // An XDG folder that is not absolute is to be ignored, says the XDG base directory specification.
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::filesystem::path(state) / "gearshift";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') {
    return std::filesystem::path(home) / ".local/state/gearshift";
  }
  throw std::runtime_error(
      "no state folder: neither XDG_STATE_HOME nor HOME names an absolute folder; "
      "give one with --state DIR");
}

std::filesystem::path state_folder_of(const std::string& given) {
  return given.empty() ? default_state_folder() : std::filesystem::path(given);
}

std::filesystem::path journal_path(const std::filesystem::path& state_folder) {
  return state_folder / "knobs.journal";
}

std::filesystem::path keys_folder(const std::string& given, const std::string& state_folder) {
  if (!given.empty()) return given;
  return state_folder_of(state_folder) / "keys";
}

std::string keys_folder_flag(const std::string& given, const std::string& state_folder) {
  if (!given.empty()) return " --keys " + quoted_word(given);
  return state_folder.empty() ? "" : " --state " + quoted_word(state_folder);
}

}  // namespace gearshift
