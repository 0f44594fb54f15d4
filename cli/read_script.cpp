#include "cli/read_script.h"

#include <fstream>
#include <sstream>

#include "controller/policy.h"

namespace gearshift {

std::string read_script(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw PolicyError(path + ": cannot be read; --policy takes the path of a Lua script");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace gearshift
