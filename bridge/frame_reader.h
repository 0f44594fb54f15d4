// Reads the values of one msgpack frame in order, within bounds and without allocating.
//
// msgpack-cxx's own parser allocates its stack for every message; the daemon decodes hostile bytes
// and thousands of reports a second, so it reads the few formats of a frame itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gearshift::wire {

// One value; of an array or a map only its head, whose elements follow.
struct Token {
  enum class Type : std::uint8_t {
    integer,
    huge,  // an integer beyond std::int64_t
    boolean,
    text,
    array,
    map,
    other,  // nil, floats, binary, extensions
  };
  Type type = Type::other;
  std::int64_t integer = 0;   // integer; boolean as 0 or 1
  std::string_view text;      // points into the frame
  std::uint32_t entries = 0;  // of an array; pairs of a map
};

class FrameReader {
 public:
  explicit FrameReader(std::string_view frame) : rest_(frame) {}

  // The next value. False where the bytes end within it, announce more than can follow, or are no
  // msgpack; the reader is then of no further use.
  bool next(Token& token);
  // Passes over the elements of `token`, which was read at `depth` (the frame's own map is 1).
  // False as next(), and for a value at a depth below kMaxDepth.
  bool skip(const Token& token, int depth);
  bool at_end() const { return rest_.empty(); }

 private:
  bool big_endian(std::size_t bytes, std::uint64_t& value);
  bool take_text(std::uint64_t bytes, Token& token);
  bool take_other(std::uint64_t bytes, Token& token);
  bool head(Token::Type type, std::uint64_t entries, Token& token);
  bool next_wide(std::uint8_t format, Token& token);

  std::string_view rest_;
};

// True for UTF-8 without control characters: what may be shown on a terminal and put into JSON.
bool printable(std::string_view text);

}  // namespace gearshift::wire
