// What of a text from outside people may be shown: terminals obey control characters, and JSON
// takes UTF-8 alone.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace gearshift {

// Bytes of the UTF-8 character that `text`, which is not empty, begins with; 0 where it begins with
// none, or with a control character of ASCII or of U+0080 to U+009F, of which one begins a command
// as ESC does.
std::size_t printable_character(std::string_view text) noexcept;

// Replaces each byte of what is no such character by '?', but for `kept`.
void hide_unprintable(std::span<char> text, char kept = ' ') noexcept;

}  // namespace gearshift
