#include "controller/printable_text.h"

#include <cstdint>

namespace gearshift {

std::size_t printable_character(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  const std::uint8_t second = byte(1);
  const bool control = first == 0xc2 && second < 0xa0;
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool beyond = first == 0xf4 && second >= 0x90;
  return control || overlong || surrogate || beyond ? 0 : length;
}

void hide_unprintable(std::span<char> text, char kept) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = printable_character({text.data() + i, text.size() - i});
    if (length == 0 && text[i] != kept) text[i] = '?';
    i += length > 0 ? length : 1;
  }
}

}  // namespace gearshift
