// Parses TOML of any bytes: what the library cannot be given is refused before it is asked.
#pragma once

#include <toml++/toml.h>

#include <stdexcept>
#include <string_view>

namespace gearshift {

// Text that is no TOML, or not of the kind taken here: what() has source, line and what is wrong.
struct TomlError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// `source` names the text in errors. Throws TomlError.
//
// toml++ up to 3.3 asks of a character whether it is white space in a way that is undefined for
// many above U+00A0, Latin and Greek letters among them. It asks outside strings and comments,
// where TOML allows ASCII alone; when it looks for the end of a number, through quotes too; and
// after a backslash in a text of several lines, where a letter outside ASCII may follow the line
// that the backslash ends. All of these are refused.
toml::table parse_toml(std::string_view text, std::string_view source);

}  // namespace gearshift
