// Typed, bounded access to one table of a TOML file, with errors that name file, line, key and
// value.
#pragma once

#include <toml++/toml.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gearshift {

// Every getter throws BoardFileError where the value has another type or is out of bounds; those
// without a fallback throw also where the key is missing. finish() rejects keys nobody asked for,
// has() included, so that a misspelt optional key is an error and not a silent default.
class TomlFields {
 public:
  // `where` names the table in errors ("knob[2]"), empty for the top of the file.
  TomlFields(const toml::table& table, std::string where, std::string_view source);

  bool has(std::string_view key) { return find(key) != nullptr; }

  // Printable ASCII, 1 to `most` characters.
  std::string text(std::string_view key, std::size_t most);
  // Lower-case letters, digits and `joints` ("-", "_"), starting with a letter.
  std::string identifier(std::string_view key, std::string_view joints);
  // The index of the text in `choices`.
  std::size_t choice(std::string_view key, std::initializer_list<std::string_view> choices);
  double number(std::string_view key, double least, double most,
                std::optional<double> fallback = std::nullopt);
  std::int64_t integer(std::string_view key, std::int64_t least, std::int64_t most);
  bool flag(std::string_view key, bool fallback);

  // Arrays have at most `most` elements; a missing one is empty.
  std::vector<std::string> texts(std::string_view key, std::size_t most);
  std::vector<std::int64_t> integers(std::string_view key, std::size_t most, std::int64_t least,
                                     std::int64_t greatest);
  // Whole numbers after multiplication by `scale`, each more than the one before; at least one.
  std::vector<std::int64_t> ascending(std::string_view key, std::size_t most, double scale,
                                      std::int64_t greatest);

  TomlFields table(std::string_view key);                                  // missing: an error
  std::vector<TomlFields> tables(std::string_view key, std::size_t most);  // [[key]]
  // The sub-tables of [key.NAME] with their names; a missing one is empty.
  std::vector<std::pair<std::string, TomlFields>> named_tables(std::string_view key,
                                                               std::size_t most);

  void finish() const;

  // "FILE:LINE: WHERE.KEY = VALUE: EXPECTED".
  [[noreturn]] void fail(std::string_view key, const std::string& expected) const;

 private:
  const toml::node* find(std::string_view key);
  const toml::node& need(std::string_view key);
  const toml::array* find_array(std::string_view key, std::size_t most);
  std::string full_key(std::string_view key) const;
  [[noreturn]] void fail_at(const toml::node& node, const std::string& key,
                            const std::string& expected) const;
  std::string checked_text(const toml::node& node, const std::string& key, std::size_t most) const;

  const toml::table* table_;
  std::string where_;
  std::string source_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace gearshift
