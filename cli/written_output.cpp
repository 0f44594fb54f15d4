#include "cli/written_output.h"

#include <algorithm>

#include "trace/replace_file.h"

namespace gearshift {

bool is_standard_output(std::string_view output) {
  return output == "-" || output == "/dev/stdout" || output == "/dev/fd/1";
}

void write_output(const std::string& output, std::string_view text) {
  if (!is_standard_output(output)) return replace_file(output, text);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void check_output(const std::string& output) {
  if (!is_standard_output(output)) check_replaceable(output);
}

std::FILE* rest_of_answer(std::initializer_list<std::string_view> outputs) {
  return std::any_of(outputs.begin(), outputs.end(), is_standard_output) ? stderr : stdout;
}

}  // namespace gearshift
