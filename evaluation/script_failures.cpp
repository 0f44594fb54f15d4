#include "evaluation/script_failures.h"

namespace gearshift {

void ScriptFailures::add(std::string_view failure) {
  ++rows;
  if (failure.empty()) return;
  if (failed++ == 0) first = failure;
}

std::string ScriptFailures::count_text(const std::string& policy) const {
  return policy + " failed in " + std::to_string(failed) + " of " + std::to_string(rows) +
         (rows == 1 ? " row" : " rows");
}

std::string ScriptFailures::line(const std::string& policy) const {
  return count_text(policy) + ": " + first.substr(0, first.find('\n'));
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

}  // namespace gearshift
