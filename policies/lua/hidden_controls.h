// Takes out of a script's text what a terminal would obey.
#pragma once

#include <span>

namespace gearshift {

// Replaces each byte of a control character by '?': those of ASCII but for `kept`, and those that
// UTF-8 writes in two bytes (U+0080 to U+009F), of which one begins a command as ESC does.
void hide_controls(std::span<char> text, char kept = ' ') noexcept;

}  // namespace gearshift
