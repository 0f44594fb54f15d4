#include "cli/toml_text.h"

#include <spdlog/fmt/fmt.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "cli/text_file.h"

namespace gearshift {

std::string read_toml_file(const std::string& path, std::string_view way_out) {
  std::optional<std::string> text = read_text_file(path);
  if (text) return std::move(*text);
  throw std::runtime_error(
      fmt::format("{}: cannot be read: {}; {}", path, std::strerror(errno), way_out));
}

void fail_at(const std::string& file, const toml::node& node, const std::string& what) {
  throw std::runtime_error(fmt::format("{}:{}: {}", file, node.source().begin.line, what));
}

std::string text_at(const std::string& file, std::string_view key, const toml::node& node) {
  const auto text = node.value<std::string>();
  if (!text || !node.is_string()) fail_at(file, node, fmt::format("{} must be a string", key));
  if (text->empty()) {
    fail_at(file, node, fmt::format("{} is empty; give a value, or leave the key out", key));
  }
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
