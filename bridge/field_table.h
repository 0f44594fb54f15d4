// Reads the fields of a message by a table of their names, forms and bounds: one row a row of
// PROTOCOL.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "bridge/frame_reader.h"
#include "bridge/protocol.h"

namespace gearshift::wire {

inline constexpr std::int64_t kMaxInteger = INT64_MAX;
inline constexpr std::size_t kMaxFields = 12;

// What a field's value must be. Names (kind, run) are decoded to the enumerator's number.
enum class Form : std::uint8_t { integer, boolean, text, kind, run, batch_sizes };
enum class Need : std::uint8_t { required, optional };

// One row of a table.
struct Field {
  std::string_view name;
  Form form = Form::integer;
  std::int64_t low = 0;  // integers: bounds; texts: least and most bytes
  std::int64_t high = 0;
  Need need = Need::required;
};

struct Value {
  bool present = false;
  std::int64_t integer = 0;
  std::string_view text;
};

struct Values {
  std::array<Value, kMaxFields> field{};
  std::array<std::int32_t, kMaxBatchSizes> batch_sizes{};
  std::uint8_t batch_size_count = 0;

  std::int64_t integer(std::size_t i) const { return field[i].integer; }
  Duration duration(std::size_t i) const { return Duration(field[i].integer); }
  Run run(std::size_t i) const { return static_cast<Run>(field[i].integer); }
};

constexpr Fault malformed(std::string_view reason) { return {Fault::Code::malformed, {}, reason}; }
constexpr Fault invalid(std::string_view field, std::string_view reason) {
  return {Fault::Code::invalid, field, reason, 0};
}

// Reads up to the type. On success `pairs` is how many pairs follow.
Fault read_type(std::string_view frame, FrameReader& reader, std::string_view& type,
                std::uint32_t& pairs);

// Reads the pairs after the type. The first invalid value is kept, and the rest is still read:
// bytes that are no map, and a version that is not ours, say more than a bound that is broken.
Fault read_fields(FrameReader& reader, std::uint32_t pairs, std::span<const Field> fields,
                  Values& values);

}  // namespace gearshift::wire
