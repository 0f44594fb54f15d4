#include "controller/profile_name.h"

#include <cstddef>
#include <cstdint>

namespace gearshift {
namespace {

constexpr std::size_t kMostBytes = 64;  // as the protocol has it

bool is_control(std::uint32_t character) {
  return character < 0x20 || (character >= 0x7f && character < 0xa0);
}

// Takes one character of well-formed UTF-8 (RFC 3629); nullopt where there is none.
std::optional<std::uint32_t> take_character(std::string_view& text) {
  const auto first = static_cast<std::uint8_t>(text.front());
  const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || text.size() < length) return std::nullopt;
  std::uint32_t character = length == 1 ? first : first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if ((byte & 0xc0U) != 0x80) return std::nullopt;
    character = character << 6U | (byte & 0x3fU);
  }
  text.remove_prefix(length);
  constexpr std::uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};  // less is written in fewer bytes
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  if (character < kLeast[length - 1] || character > 0x10ffff || surrogate) return std::nullopt;
  return character;
}

}  // namespace

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const std::optional<std::uint32_t> character = take_character(text);
    if (!character || is_control(*character)) return false;
  }
  return true;
}

std::optional<std::string> name_objection(std::string_view name) {
  const bool fits = !name.empty() && name.size() <= kMostBytes;
  if (fits && name.front() != ' ' && name.back() != ' ' && is_printable(name)) return std::nullopt;
  return "must be 1 to " + std::to_string(kMostBytes) +
         " bytes of printable UTF-8, with no blank at either end";
}

}  // namespace gearshift
