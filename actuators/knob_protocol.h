// What a daemon without root and the process that sets its knobs say to each other over a stream
// socket, byte by byte.
//
// Integers are little-endian. A request is 16 bytes, whatever it asks for:
//   u32 sequence, u8 verb, u8 knob, u16 zero, i64 value
// An answer is a u32, the number of bytes that follow, and in these
//   u32 sequence of the request, 0 where none asked; u8 type
//   u8 number of knobs, and for each one u8 known, i64 value in force
//   text (a u16, its number of bytes, and the bytes)
// and in a welcome, behind them,
//   text board; u8 number of knobs, and for each one text name, u8 unit, u8 class,
//     u8 follows cores, u16 number of values and so many i64
//   u16 number of absent knobs, and for each one text name, text reason
//   u16 number of findings, and so many texts
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "controller/knob.h"

namespace gearshift {

inline constexpr std::int64_t kKnobProtocolVersion = 4;
inline constexpr std::size_t kRequestBytes = 16;
inline constexpr std::size_t kMaxAnswerBytes = 64 * 1024;
inline constexpr std::size_t kMaxAnswerText = 1024;  // longer text is cut

// Bytes that are no answer: what() says what is wrong with them.
struct KnobProtocolError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class KnobVerb : std::uint8_t {
  hello,    // value: kKnobProtocolVersion. Answered by welcome or busy, and the first of all
  write,    // knob, value: one step towards it. Answered by done, more, away or refused
  beat,     // the loop goes on. Answered by values where one has changed, and once a second
  manage,   // knob: its kind; value: a process id, 0 for none. Answered by done or refused
  pin_fan,  // answered by done; text: what FanPin found, behind the file to watch and a line's end
  restore,  // answered by done or refused
  keep,     // the knobs stay as they are when this connection ends. Answered by done
};
inline constexpr std::uint8_t kKnobVerbs = 7;

struct KnobRequest {
  std::uint32_t sequence = 0;  // the client's own count
  KnobVerb verb = KnobVerb::hello;
  std::uint8_t knob = 0;
  std::int64_t value = 0;

  friend bool operator==(const KnobRequest&, const KnobRequest&) = default;
};

enum class KnobAnswerType : std::uint8_t {
  welcome,
  busy,     // somebody else has the knobs; text: who
  done,     //
  more,     // as Progress::more
  refused,  // text: why
  values,
  away,  // as Progress::away; text: why nothing is written yet
};
inline constexpr std::uint8_t kKnobAnswerTypes = 7;

// What may be set, and what was found of it.
struct KnobWelcome {
  std::string board;  // its id
  KnobSpace knobs;
  std::vector<AbsentKnob> absent;
  std::vector<std::string> findings;
};

struct KnobAnswer {
  std::uint32_t sequence = 0;
  KnobAnswerType type = KnobAnswerType::done;
  std::uint8_t knob_count = 0;
  // In force after the request, in each knob's unit; nullopt where it cannot be told.
  std::array<std::optional<std::int64_t>, kMaxKnobs> values{};
  std::string text = {};
  std::optional<KnobWelcome> welcome = {};
};

std::array<char, kRequestBytes> encode(const KnobRequest& request);
// Takes any bytes; nullopt where they are no request. Whether there is such a knob or value is not
// looked at.
std::optional<KnobRequest> decode_request(std::span<const char, kRequestBytes> bytes);

// Findings that would make it longer than kMaxAnswerBytes are left out. Throws KnobProtocolError
// where the knobs alone are too many.
std::string encode(const KnobAnswer& answer);
// Takes any bytes and reads one answer from their start. Returns how many bytes it had, 0 where it
// is not whole yet. Throws KnobProtocolError. Allocates for text and a welcome only.
std::size_t decode_answer(std::string_view bytes, KnobAnswer& answer);

}  // namespace gearshift
