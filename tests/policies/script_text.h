// The text of a script as it ships.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace gearshift {

inline std::string script_text(const std::string& name) {
  std::ifstream file(std::string(GEARSHIFT_SOURCE_DIR) + "/scripts/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace gearshift
