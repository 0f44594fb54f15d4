#include "evaluation/script_failures.h"

namespace gearshift {

void ScriptFailures::add(std::string_view failure) {
  ++rows;
  if (failure.empty()) return;
  // The calls below it say more than a table has room for; standard error has them.
  if (failed++ == 0) first = failure.substr(0, failure.find('\n'));
}

std::string ScriptFailures::line(const std::string& policy) const {
  return policy + " failed in " + std::to_string(failed) + " of " + std::to_string(rows) +
         (rows == 1 ? " row: " : " rows: ") + first;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

}  // namespace gearshift
