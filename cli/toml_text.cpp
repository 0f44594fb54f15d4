#include "cli/toml_text.h"

#include <spdlog/fmt/fmt.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace gearshift {

std::string read_toml_file(const std::string& path, std::string_view way_out) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be read; {}", path, way_out));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void fail_at(const std::string& file, const toml::node& node, const std::string& what) {
  throw std::runtime_error(fmt::format("{}:{}: {}", file, node.source().begin.line, what));
}

std::string text_at(const std::string& file, std::string_view key, const toml::node& node) {
  const auto text = node.value<std::string>();
  if (!text || !node.is_string()) fail_at(file, node, fmt::format("{} must be a string", key));
  return *text;
}

std::vector<std::string> texts_at(const std::string& file, std::string_view key,
                                  const toml::node& node) {
  std::vector<std::string> texts;
  if (const toml::array* list = node.as_array()) {
    for (const toml::node& one : *list) texts.push_back(text_at(file, key, one));
  } else {
    texts.push_back(text_at(file, key, node));
  }
  return texts;
}

}  // namespace gearshift
