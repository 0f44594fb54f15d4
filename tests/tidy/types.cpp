// Two types of one name in one namespace, each in a header of its own: no compiler sees both, and
// the linker takes the inline functions of either for both.
#include <map>
#include <regex>
#include <utility>

#include "tests/tidy/tidy.h"

namespace gearshift::tidy {

std::vector<Finding> check_types(std::span<const Source> sources) {
  static const std::regex scope(R"(namespace ([a-z_:]+) \{)");
  static const std::regex type(
      R"((?:struct|class|enum class|union) ([A-Za-z0-9_]+)(?: final)?(?: : .*)? \{.*)");
  std::map<std::string, std::string> first;  // full name to the header that has it
  std::vector<Finding> findings;
  for (const Source& source : sources) {
    if (!is_header(source.path) || below(source.path, "tests")) continue;
    const Views views = split_views(source.text);
    std::string name_space;
    std::smatch match;
    for (std::size_t i = 0; i < views.code.size(); ++i) {
      if (std::regex_match(views.code[i], match, scope)) name_space = match[1];
      if (!std::regex_match(views.code[i], match, type)) continue;
      const std::string name = name_space + "::" + match[1].str();
      const auto [known, is_new] = first.emplace(name, source.path);
      if (is_new || known->second == source.path) continue;
      findings.push_back(
          {source.path, i + 1, "type",
           name + " is also in " + known->second + ": give one of them a name of its own"});
    }
  }
  return findings;
}

}  // namespace gearshift::tidy
