#include "policies/lua/hidden_controls.h"

#include <cstddef>

namespace gearshift {

void hide_controls(std::span<char> text, char kept) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((byte(i) < 0x20 && text[i] != kept) || byte(i) == 0x7f) text[i] = '?';
    if (byte(i) != 0xc2 || i + 1 == text.size()) continue;
    if (byte(i + 1) >= 0x80 && byte(i + 1) < 0xa0) text[i] = text[i + 1] = '?';
  }
}

}  // namespace gearshift
