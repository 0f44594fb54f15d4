#include "cli/read_script.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "cli/shipped_scripts.h"
#include "cli/text_file.h"
#include "controller/policy.h"
#include "controller/printable_text.h"

namespace gearshift {

bool names_shipped_script(std::string_view policy) {
  return policy.find_first_of("./") == std::string_view::npos;
}

bool may_be_edited(const std::string& policy) {
  std::error_code ignored;
  return !names_shipped_script(policy) && std::filesystem::is_regular_file(policy, ignored);
}

NamedText read_script(const std::string& policy) {
  if (names_shipped_script(policy)) {
    std::string names;
    for (const EmbeddedText& script : shipped_scripts()) {
      const std::string name = std::filesystem::path(script.file).stem();
      if (name == policy) return {policy + ".lua", std::string(script.text)};
      names += (names.empty() ? "" : ", ") + name;
    }
    throw PolicyError("--policy " + policy + ": no such script ships; there are " + names +
                      ", and a file's path takes your own: ./" + policy + ".lua");
  }
  std::optional<std::string> text = read_text_file(policy);
  if (text) {
    std::string name = std::filesystem::path(policy).filename().string();
    hide_unprintable(name);
    return {std::move(name), std::move(*text)};
  }
  throw PolicyError(policy + ": cannot be read: " + std::strerror(errno) +
                    "; --policy takes the path of a Lua script, or the name of a "
                    "shipped one, for example bayes");
}

}  // namespace gearshift
