// Config and spec files of commands: read whole, and refused with errors that name file and line.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>
#include <vector>

namespace gearshift {

// The bytes of the file `path`. Throws std::runtime_error that ends in `way_out`.
std::string read_toml_file(const std::string& path, std::string_view way_out);

// Throws std::runtime_error with the file and the node's line.
[[noreturn]] void fail_at(const std::string& file, const toml::node& node, const std::string& what);

// The string at `key`; fails at the node where it is none, or an empty one.
std::string text_at(const std::string& file, std::string_view key, const toml::node& node);

// The strings of the list at `key`; one string is a list of one.
std::vector<std::string> texts_at(const std::string& file, std::string_view key,
                                  const toml::node& node);

}  // namespace gearshift
