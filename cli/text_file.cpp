#include "cli/text_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace gearshift {

std::optional<std::string> read_text_file(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored)) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace gearshift
