#include "bridge/frame_reader.h"

#include "bridge/protocol.h"
#include "controller/printable_text.h"

namespace gearshift::wire {

bool FrameReader::big_endian(std::size_t bytes, std::uint64_t& value) {
  if (rest_.size() < bytes) return false;
  value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value = (value << 8) | static_cast<std::uint8_t>(rest_[i]);
  }
  rest_.remove_prefix(bytes);
  return true;
}

bool FrameReader::take_text(std::uint64_t bytes, Token& token) {
  if (bytes > rest_.size()) return false;
  token.type = Token::Type::text;
  token.text = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return true;
}

bool FrameReader::take_other(std::uint64_t bytes, Token& token) {
  if (bytes > rest_.size()) return false;
  token.type = Token::Type::other;
  rest_.remove_prefix(bytes);
  return true;
}

// Every entry takes a byte at least, so a head that announces more than that cannot be honest.
bool FrameReader::head(Token::Type type, std::uint64_t entries, Token& token) {
  if (entries * (type == Token::Type::map ? 2 : 1) > rest_.size()) return false;
  token.type = type;
  token.entries = static_cast<std::uint32_t>(entries);
  return true;
}

bool FrameReader::next(Token& token) {
  if (rest_.empty()) return false;
  const auto format = static_cast<std::uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  if (format < 0x80 || format >= 0xe0) {  // fixint
    token.type = Token::Type::integer;
    token.integer = static_cast<std::int8_t>(format);
    return true;
  }
  if (format < 0x90) return head(Token::Type::map, format & 0x0fU, token);
  if (format < 0xa0) return head(Token::Type::array, format & 0x0fU, token);
  if (format < 0xc0) return take_text(format & 0x1fU, token);
  return next_wide(format, token);
}

// The formats 0xc0 to 0xdf: constants, and values whose size follows.
bool FrameReader::next_wide(std::uint8_t format, Token& token) {
  std::uint64_t value = 0;
  switch (format) {
    case 0xc0:  // nil
      return take_other(0, token);
    case 0xc2:
    case 0xc3:
      token.type = Token::Type::boolean;
      token.integer = format == 0xc3;
      return true;
    case 0xc4:  // binary
    case 0xc5:
    case 0xc6:
      return big_endian(std::size_t{1} << (format - 0xc4U), value) && take_other(value, token);
    case 0xc7:  // extension: size, one byte of type, data
    case 0xc8:
    case 0xc9:
      return big_endian(std::size_t{1} << (format - 0xc7U), value) && take_other(value + 1, token);
    case 0xca:  // floats
      return take_other(4, token);
    case 0xcb:
      return take_other(8, token);
    case 0xcc:  // unsigned integers
    case 0xcd:
    case 0xce:
    case 0xcf:
      if (!big_endian(std::size_t{1} << (format - 0xccU), value)) return false;
      token.integer = static_cast<std::int64_t>(value);
      token.type = token.integer < 0 ? Token::Type::huge : Token::Type::integer;
      return true;
    case 0xd0:  // signed integers: sign-extended from their own width
    case 0xd1:
    case 0xd2:
    case 0xd3: {
      const std::size_t bytes = std::size_t{1} << (format - 0xd0U);
      if (!big_endian(bytes, value)) return false;
      const auto shift = static_cast<unsigned>(64 - 8 * bytes);
      token.type = Token::Type::integer;
      token.integer = static_cast<std::int64_t>(value << shift) >> shift;
      return true;
    }
    case 0xd4:  // extensions of 1, 2, 4, 8 and 16 bytes after one byte of type
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
      return take_other((std::uint64_t{1} << (format - 0xd4U)) + 1, token);
    case 0xd9:
    case 0xda:
    case 0xdb:
      return big_endian(std::size_t{1} << (format - 0xd9U), value) && take_text(value, token);
    case 0xdc:
    case 0xdd:
      return big_endian(std::size_t{2} << (format - 0xdcU), value) &&
             head(Token::Type::array, value, token);
    case 0xde:
    case 0xdf:
      return big_endian(std::size_t{2} << (format - 0xdeU), value) &&
             head(Token::Type::map, value, token);
    default:  // 0xc1 is never used
      return false;
  }
}

bool FrameReader::skip(const Token& token, int depth) {
  if (token.type != Token::Type::array && token.type != Token::Type::map) return true;
  if (depth > kMaxDepth) return false;
  const std::uint64_t values =
      std::uint64_t{token.entries} * (token.type == Token::Type::map ? 2 : 1);
  for (std::uint64_t i = 0; i < values; ++i) {
    Token element;
    if (!next(element) || !skip(element, depth + 1)) return false;
  }
  return true;
}

bool printable(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = printable_character(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace gearshift::wire
