#include "boards/toml_fields.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "boards/board_description.h"

namespace gearshift {
namespace {

std::string shown(double value) {
  std::ostringstream out;
  out.precision(15);
  out << value;
  return out.str();
}

// A file may hold any bytes in its keys and texts; an error message may not.
std::string printable(std::string text) {
  constexpr std::size_t kMost = 80;
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

std::string value_text(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array()) return "an array";
  std::ostringstream out;
  out << toml::node_view<const toml::node>(node);
  return printable(out.str());
}

std::string range(double least, double most) {
  return "must be a number from " + shown(least) + " to " + shown(most);
}

}  // namespace

TomlFields::TomlFields(const toml::table& table, std::string where, std::string_view source)
    : table_(&table), where_(std::move(where)), source_(source) {}

std::string TomlFields::full_key(std::string_view key) const {
  return where_.empty() ? std::string(key) : where_ + "." + std::string(key);
}

const toml::node* TomlFields::find(std::string_view key) {
  asked_.emplace(key);
  return table_->get(key);
}

const toml::node& TomlFields::need(std::string_view key) {
  const toml::node* node = find(key);
  if (!node) fail(key, "is missing");
  return *node;
}

void TomlFields::fail_at(const toml::node& node, const std::string& key,
                         const std::string& expected) const {
  throw BoardFileError(source_ + ":" + std::to_string(node.source().begin.line) + ": " +
                       printable(key) + " = " + value_text(node) + ": " + expected);
}

void TomlFields::fail(std::string_view key, const std::string& expected) const {
  const toml::node* node = table_->get(key);
  if (node) fail_at(*node, full_key(key), expected);
  throw BoardFileError(source_ + ":" + std::to_string(table_->source().begin.line) + ": " +
                       full_key(key) + ": " + expected);
}

std::string TomlFields::checked_text(const toml::node& node, const std::string& key,
                                     std::size_t most) const {
  const std::string expected =
      "must be a text of 1 to " + std::to_string(most) + " printable ASCII characters";
  const std::optional<std::string> value = node.value_exact<std::string>();
  if (!value || value->empty() || value->size() > most) fail_at(node, key, expected);
  for (const char c : *value) {
    if (c < ' ' || c > '~') fail_at(node, key, expected);
  }
  return *value;
}

std::string TomlFields::text(std::string_view key, std::size_t most) {
  return checked_text(need(key), full_key(key), most);
}

std::string TomlFields::identifier(std::string_view key, std::string_view joints) {
  std::string value = text(key, 32);
  bool good = value.front() >= 'a' && value.front() <= 'z';
  for (const char c : value) {
    good = good && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                    joints.find(c) != std::string_view::npos);
  }
  if (!good) {
    fail(key,
         "must start with a lower-case letter and go on with lower-case letters, digits and '" +
             std::string(joints) + "'");
  }
  return value;
}

std::size_t TomlFields::choice(std::string_view key,
                               std::initializer_list<std::string_view> choices) {
  const std::optional<std::string> value = need(key).value_exact<std::string>();
  const auto found = value ? std::find(choices.begin(), choices.end(), *value) : choices.end();
  if (found == choices.end()) {
    std::string expected = "must be one of";
    for (const std::string_view name : choices) expected += " \"" + std::string(name) + "\"";
    fail(key, expected);
  }
  return static_cast<std::size_t>(found - choices.begin());
}

double TomlFields::number(std::string_view key, double least, double most,
                          std::optional<double> fallback) {
  if (fallback && !has(key)) return *fallback;
  const toml::node& node = need(key);
  const std::optional<double> value = node.is_number() ? node.value<double>() : std::nullopt;
  // Written so that a NaN fails too.
  if (!value || !(*value >= least && *value <= most)) fail(key, range(least, most));
  return *value;
}

std::int64_t TomlFields::integer(std::string_view key, std::int64_t least, std::int64_t most) {
  const std::optional<std::int64_t> value = need(key).value_exact<std::int64_t>();
  if (!value || *value < least || *value > most) {
    fail(key,
         "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return *value;
}

bool TomlFields::flag(std::string_view key, bool fallback) {
  const toml::node* node = find(key);
  if (!node) return fallback;
  const std::optional<bool> value = node->value_exact<bool>();
  if (!value) fail(key, "must be true or false");
  return *value;
}

const toml::array* TomlFields::find_array(std::string_view key, std::size_t most) {
  const toml::node* node = find(key);
  if (!node) return nullptr;
  const toml::array* array = node->as_array();
  if (!array || array->size() > most) {
    fail(key, "must be an array of at most " + std::to_string(most) + " elements");
  }
  return array;
}

std::vector<std::string> TomlFields::texts(std::string_view key, std::size_t most) {
  std::vector<std::string> values;
  const toml::array* array = find_array(key, most);
  if (!array) return values;
  for (const toml::node& node : *array) {
    const std::string name = full_key(key) + "[" + std::to_string(values.size()) + "]";
    values.push_back(checked_text(node, name, 128));
  }
  return values;
}

std::vector<std::int64_t> TomlFields::integers(std::string_view key, std::size_t most,
                                               std::int64_t least, std::int64_t greatest) {
  std::vector<std::int64_t> values;
  const toml::array* array = find_array(key, most);
  if (!array) return values;
  for (const toml::node& node : *array) {
    const std::string name = full_key(key) + "[" + std::to_string(values.size()) + "]";
    const std::optional<std::int64_t> value = node.value_exact<std::int64_t>();
    if (!value || *value < least || *value > greatest) {
      fail_at(node, name,
              "must be a whole number from " + std::to_string(least) + " to " +
                  std::to_string(greatest));
    }
    values.push_back(*value);
  }
  return values;
}

std::vector<std::int64_t> TomlFields::ascending(std::string_view key, std::size_t most,
                                                double scale, std::int64_t greatest) {
  std::vector<std::int64_t> values;
  const toml::array* array = find_array(key, most);
  if (!array || array->empty()) fail(key, "must be an array of at least one number");
  const double largest = static_cast<double>(greatest) / scale;
  for (const toml::node& node : *array) {
    const std::string name = full_key(key) + "[" + std::to_string(values.size()) + "]";
    const std::optional<double> value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value || !(*value > 0 && *value <= largest)) {
      fail_at(node, name, "must be a number above 0, at most " + shown(largest));
    }
    const std::int64_t scaled = std::llround(*value * scale);
    if (std::fabs(*value * scale - static_cast<double>(scaled)) > 1e-6 * scale) {
      fail_at(node, name, "must be a multiple of " + shown(1 / scale));
    }
    if (!values.empty() && scaled <= values.back()) {
      fail_at(node, name,
              "must be more than the value before it (" +
                  shown(static_cast<double>(values.back()) / scale) + ")");
    }
    values.push_back(scaled);
  }
  return values;
}

TomlFields TomlFields::table(std::string_view key) {
  const toml::table* sub = need(key).as_table();
  if (!sub) fail(key, "must be a table, [" + full_key(key) + "]");
  return {*sub, full_key(key), source_};
}

std::vector<TomlFields> TomlFields::tables(std::string_view key, std::size_t most) {
  std::vector<TomlFields> found;
  const toml::array* array = find_array(key, most);
  if (!array) return found;
  for (const toml::node& node : *array) {
    const std::string name = full_key(key) + "[" + std::to_string(found.size()) + "]";
    const toml::table* sub = node.as_table();
    if (!sub) fail_at(node, name, "must be a table, [[" + full_key(key) + "]]");
    found.emplace_back(*sub, name, source_);
  }
  return found;
}

std::vector<std::pair<std::string, TomlFields>> TomlFields::named_tables(std::string_view key,
                                                                         std::size_t most) {
  std::vector<std::pair<std::string, TomlFields>> found;
  const toml::node* node = find(key);
  if (!node) return found;
  const toml::table* parent = node->as_table();
  if (!parent || parent->size() > most) {
    fail(key,
         "must hold at most " + std::to_string(most) + " tables, [" + full_key(key) + ".NAME]");
  }
  for (const auto& [name, value] : *parent) {
    const std::string full = full_key(key) + "." + std::string(name.str());
    const toml::table* sub = value.as_table();
    if (!sub) fail_at(value, full, "must be a table, [" + full + "]");
    found.emplace_back(std::string(name.str()), TomlFields(*sub, full, source_));
  }
  return found;
}

void TomlFields::finish() const {
  for (const auto& [name, node] : *table_) {
    if (asked_.contains(name.str())) continue;
    std::string known;
    for (const std::string& key : asked_) known += (known.empty() ? "" : ", ") + key;
    fail_at(node, full_key(name.str()), "no such key here; the keys are " + known);
  }
}

}  // namespace gearshift
