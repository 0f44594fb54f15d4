#include "bridge/field_table.h"

namespace gearshift::wire {
namespace {

constexpr std::string_view kTypeKey = "type";
constexpr Fault kTruncated = malformed("ends early, nests too deep, or is not msgpack");
constexpr Fault kGivenTwice = malformed("gives a field twice");

// Reads the list whose head is `token`. An entry that is none leaves the rest to skip.
bool read_batch_sizes(FrameReader& reader, const Token& token, Values& values, Fault& fault) {
  if (token.type != Token::Type::array || token.entries == 0 || token.entries > kMaxBatchSizes) {
    fault = invalid("batch_sizes", "is not a list of 1 to 32 integers");
    return reader.skip(token, 2);
  }
  std::int64_t last = 0;
  for (std::uint32_t i = 0; i < token.entries; ++i) {
    Token entry;
    if (!reader.next(entry) || !reader.skip(entry, 3)) return false;
    if (entry.type != Token::Type::integer || entry.integer <= last ||
        entry.integer > kMaxBatchSize) {
      fault = invalid("batch_sizes", "has entries that do not ascend from 1 to 1048576");
      continue;
    }
    last = entry.integer;
    values.batch_sizes[i] = static_cast<std::int32_t>(last);
  }
  values.batch_size_count = static_cast<std::uint8_t>(token.entries);
  return true;
}

Fault check_name(const Field& field, std::string_view text, std::int64_t& number) {
  constexpr std::array<std::string_view, 3> kRuns = {"train", "infer", "both"};
  const std::size_t choices = field.form == Form::kind ? kKinds : kRuns.size();
  for (std::size_t i = 0; i < choices; ++i) {
    if (text == kRuns[i]) {
      number = static_cast<std::int64_t>(i);
      return {};
    }
  }
  return invalid(field.name, field.form == Form::kind ? "is neither train nor infer"
                                                      : "is none of train, infer, both");
}

Fault check_value(const Field& field, const Token& token, Value& value) {
  switch (field.form) {
    case Form::integer:
      if (token.type != Token::Type::integer || token.integer < field.low ||
          token.integer > field.high) {
        return invalid(field.name, "is not an integer within its bounds");
      }
      value.integer = token.integer;
      return {};
    case Form::boolean:
      if (token.type != Token::Type::boolean) return invalid(field.name, "is not a boolean");
      value.integer = token.integer;
      return {};
    case Form::text: {
      const auto bytes = static_cast<std::int64_t>(token.text.size());
      if (token.type != Token::Type::text || bytes < field.low || bytes > field.high ||
          !printable(token.text)) {
        return invalid(field.name, "is not printable UTF-8 text within its bounds");
      }
      value.text = token.text;
      return {};
    }
    default:
      if (token.type != Token::Type::text) return invalid(field.name, "is not a string");
      return check_name(field, token.text, value.integer);
  }
}

}  // namespace

Fault read_fields(FrameReader& reader, std::uint32_t pairs, std::span<const Field> fields,
                  Values& values) {
  Fault first;
  std::size_t expected = 0;  // Fields mostly come in the table's order.
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    Token key, token;
    if (!reader.next(key)) return kTruncated;
    if (key.type != Token::Type::text) return malformed("has a key that is not a string");
    if (key.text == kTypeKey) return kGivenTwice;
    if (!reader.next(token)) return kTruncated;
    std::size_t index = fields.size();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::size_t candidate = (expected + i) % fields.size();
      if (fields[candidate].name == key.text) {
        index = candidate;
        break;
      }
    }
    if (index == fields.size()) {
      if (!reader.skip(token, 2)) return kTruncated;
      continue;
    }
    const Field& field = fields[index];
    expected = index + 1;
    if (values.field[index].present) return kGivenTwice;
    values.field[index].present = true;
    Fault fault;
    if (field.form == Form::batch_sizes) {
      if (!read_batch_sizes(reader, token, values, fault)) return kTruncated;
    } else {
      fault = check_value(field, token, values.field[index]);
      if (!reader.skip(token, 2)) return kTruncated;
    }
    if (fault && !first) first = fault;
  }
  if (!reader.at_end()) return malformed("has bytes after its map");
  for (std::size_t i = 0; i < fields.size() && !first; ++i) {
    if (fields[i].need == Need::required && !values.field[i].present) {
      first = invalid(fields[i].name, "is missing");
    }
  }
  return first;
}

Fault read_type(std::string_view frame, FrameReader& reader, std::string_view& type,
                std::uint32_t& pairs) {
  if (frame.size() > kMaxFrameBytes) return malformed("is larger than 4096 bytes");
  Token map, key, value;
  if (!reader.next(map)) return kTruncated;
  if (map.type != Token::Type::map || map.entries == 0 || map.entries > kMaxMapEntries) {
    return malformed("is not a map of 1 to 64 entries");
  }
  if (!reader.next(key)) return kTruncated;
  if (key.type != Token::Type::text || key.text != kTypeKey) {
    return malformed("does not begin with the key type");
  }
  if (!reader.next(value)) return kTruncated;
  if (value.type != Token::Type::text) return malformed("has a type that is not a string");
  type = value.text;
  pairs = map.entries - 1;
  return {};
}

}  // namespace gearshift::wire
