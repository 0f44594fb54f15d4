#include "bridge/protocol.h"

#include <optional>
#include <span>

#include "bridge/frame_reader.h"

namespace gearshift::wire {
namespace {

constexpr std::int64_t kMaxInteger = INT64_MAX;
constexpr std::size_t kMaxFields = 7;

// What a field's value must be. Names (kind, run) are decoded to the enumerator's number.
enum class Form : std::uint8_t { integer, boolean, text, kind, run, batch_sizes };
enum class Need : std::uint8_t { required, optional };

// One row of a table of PROTOCOL.md.
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

constexpr Field kVersionField{"version", Form::integer, 0, kMaxInteger};
constexpr Field kSetField{"set", Form::integer, 1, UINT32_MAX};
constexpr Field kBatchSizeField{"batch_size", Form::integer, 1, kMaxBatchSize};
constexpr Field kRunField{"run", Form::run};
constexpr Field kCodeField{"code", Form::text, 0, kMaxTextBytes};
constexpr Field kMessageField{"message", Form::text, 0, kMaxMessageBytes};

constexpr Field kHelloFields[] = {
    kVersionField,
    {"name", Form::text, 1, kMaxTextBytes},
    {"kind", Form::kind},
    {"pid", Form::integer, 0, INT32_MAX, Need::optional},
    kBatchSizeField,
    {"batch_sizes", Form::batch_sizes},
    {"samples_per_epoch", Form::integer, 0, kMaxSamplesPerEpoch, Need::optional},
};
constexpr Field kReportFields[] = {
    {"sequence", Form::integer, 1, kMaxInteger},
    {"set", Form::integer, 0, UINT32_MAX},
    {"epoch", Form::integer, 0, UINT32_MAX},
    kBatchSizeField,
    {"elapsed_ns", Form::integer, 1, kMaxElapsed.count()},
    {"fetch_stall_ns", Form::integer, 0, kMaxElapsed.count(), Need::optional},
    {"compute_ns", Form::integer, 0, kMaxElapsed.count(), Need::optional},
};
constexpr Field kSettingFields[] = {kSetField, kBatchSizeField, kRunField};
constexpr Field kRefusedFields[] = {kSetField, kCodeField, kMessageField};
constexpr Field kWelcomeFields[] = {
    kVersionField,
    {"workload", Form::integer, 1, UINT16_MAX},
    {"managed", Form::boolean},
    {"heartbeat_ns", Form::integer, 1, kMaxElapsed.count()},
    {"silent_after_ns", Form::integer, 1, kMaxElapsed.count()},
    kMessageField,
};
constexpr Field kErrorFields[] = {kCodeField, kMessageField};
constexpr Field kGoalFields[] = {
    {"objective", Form::text, 1, kMaxTextBytes, Need::optional},
    {"energy_weight_ppm", Form::integer, 0, kMillion, Need::optional},
};
constexpr Field kCapFields[] = {{"power_mw", Form::integer, 0, kMaxPowerMw}};

constexpr Fault malformed(std::string_view reason) { return {Fault::Code::malformed, {}, reason}; }
constexpr Fault invalid(std::string_view field, std::string_view reason) {
  return {Fault::Code::invalid, field, reason, 0};
}
constexpr Fault kTruncated = malformed("ends early, nests too deep, or is not msgpack");
constexpr Fault kUnknownType{Fault::Code::unknown_type, "type", "is unknown", 0};

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

// Reads the pairs after the type. The first invalid value is kept, and the rest is still read:
// bytes that are no map, and a version that is not ours, say more than a bound that is broken.
Fault read_fields(FrameReader& reader, std::uint32_t pairs, std::span<const Field> fields,
                  Values& values) {
  Fault first;
  std::size_t expected = 0;  // Fields mostly come in the table's order.
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    Token key, token;
    if (!reader.next(key)) return kTruncated;
    if (key.type != Token::Type::text) return malformed("has a key that is not a string");
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
    if (values.field[index].present) return malformed("gives a field twice");
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

// Reads up to the type. On success `pairs` is how many pairs follow.
Fault read_type(std::string_view frame, FrameReader& reader, std::string_view& type,
                std::uint32_t& pairs) {
  if (frame.size() > kMaxFrameBytes) return malformed("is larger than 4096 bytes");
  Token map, key, value;
  if (!reader.next(map)) return kTruncated;
  if (map.type != Token::Type::map || map.entries == 0 || map.entries > kMaxMapEntries) {
    return malformed("is not a map of 1 to 64 entries");
  }
  if (!reader.next(key)) return kTruncated;
  if (key.type != Token::Type::text || key.text != "type") {
    return malformed("does not begin with the key type");
  }
  if (!reader.next(value)) return kTruncated;
  if (value.type != Token::Type::text) return malformed("has a type that is not a string");
  type = value.text;
  pairs = map.entries - 1;
  return {};
}

Report build_report(const Values& values) {
  return {static_cast<std::uint64_t>(values.integer(0)),
          static_cast<std::uint32_t>(values.integer(1)),
          static_cast<std::uint32_t>(values.integer(2)),
          static_cast<std::int32_t>(values.integer(3)),
          values.duration(4),
          values.duration(5),
          values.duration(6)};
}

template <typename Setting>
Setting build_setting(const Values& values) {
  return {static_cast<std::uint32_t>(values.integer(0)),
          static_cast<std::int32_t>(values.integer(1)), values.run(2)};
}

Refused build_refused(const Values& values) {
  return {static_cast<std::uint32_t>(values.integer(0)), Text(values.field[1].text),
          MessageText(values.field[2].text)};
}

Welcome build_welcome(const Values& values) {
  return {values.integer(0),      static_cast<WorkloadHandle>(values.integer(1)),
          values.integer(2) != 0, values.duration(3),
          values.duration(4),     MessageText(values.field[5].text)};
}

Error build_error(const Values& values) {
  return {Text(values.field[0].text), MessageText(values.field[1].text)};
}

CapRequest build_cap(const Values& values) { return {values.integer(0)}; }

template <typename Empty>
Empty build_empty(const Values&) {
  return {};
}

// One type of message: a heading of PROTOCOL.md. `take` gets what read_fields() found wrong and
// says what is wrong in the end; where nothing is, it sets the message.
template <typename Message>
struct Type {
  std::string_view name;
  std::span<const Field> fields;
  Fault (*take)(const Fault& fault, const Values& values, Message& message);
};

template <auto build, typename Message>
Fault take(const Fault& fault, const Values& values, Message& message) {
  if (!fault) message = build(values);
  return fault;
}

Fault take_hello(const Fault& fault, const Values& values, ClientMessage& message) {
  if (fault.code == Fault::Code::malformed) return fault;
  // Only an integer is kept as a version, so a text there is invalid, not another version.
  if (values.field[0].present && values.integer(0) != kVersion && fault.field != "version") {
    return {Fault::Code::version, "version", "is not spoken here", values.integer(0)};
  }
  if (fault) return fault;
  Hello hello;
  hello.version = values.integer(0);
  hello.name = Text(values.field[1].text);
  hello.kind = static_cast<Kind>(values.integer(2));
  hello.pid = static_cast<std::int32_t>(values.integer(3));
  hello.batch_size = static_cast<std::int32_t>(values.integer(4));
  hello.batch_sizes = values.batch_sizes;
  hello.batch_size_count = values.batch_size_count;
  hello.samples_per_epoch = values.integer(6);
  for (std::size_t i = 0; i < hello.batch_size_count; ++i) {
    if (hello.batch_sizes[i] == hello.batch_size) {
      message = hello;
      return {};
    }
  }
  return invalid("batch_size", "is not one of batch_sizes");
}

std::optional<Objective> objective_of(std::string_view name) {
  for (const Objective one : kObjectives) {
    if (objective_name(one) == name) return one;
  }
  return std::nullopt;
}

Fault take_goal(const Fault& fault, const Values& values, ControlRequest& message) {
  if (fault) return fault;
  GoalRequest request;
  if (values.field[0].present) {
    request.change.objective = objective_of(values.field[0].text);
    if (!request.change.objective) {
      return invalid("objective", "is none of time, energy, latency, weighted, target");
    }
  }
  if (values.field[1].present) {
    request.change.energy_weight = static_cast<double>(values.integer(1)) / kMillion;
  }
  if (request.change == GoalChange{}) {
    return invalid("goal", "changes nothing: it has neither objective nor energy_weight_ppm");
  }
  message = request;
  return {};
}

// The most frequent first.
constexpr Type<ClientMessage> kClientTypes[] = {
    {"minibatch", kReportFields, take<build_report>},
    {"heartbeat", {}, take<build_empty<Heartbeat>>},
    {"hello", kHelloFields, take_hello},
    {"applied", kSettingFields, take<build_setting<Applied>>},
    {"refused", kRefusedFields, take<build_refused>},
    {"bye", {}, take<build_empty<Bye>>},
};
constexpr Type<DaemonMessage> kDaemonTypes[] = {
    {"set", kSettingFields, take<build_setting<Set>>},
    {"heartbeat", {}, take<build_empty<Heartbeat>>},
    {"welcome", kWelcomeFields, take<build_welcome>},
    {"error", kErrorFields, take<build_error>},
    {"bye", {}, take<build_empty<Bye>>},
};
constexpr Type<ControlRequest> kControlTypes[] = {
    {"status", {}, take<build_empty<StatusRequest>>},
    {"cap", kCapFields, take<build_cap>},
    {"goal", kGoalFields, take_goal},
    {"stop", {}, take<build_empty<StopRequest>>},
};

template <typename Message>
Fault decode_one_of(std::span<const Type<Message>> types, std::string_view frame,
                    Message& message) noexcept {
  FrameReader reader(frame);
  std::string_view name;
  std::uint32_t pairs = 0;
  if (const Fault fault = read_type(frame, reader, name, pairs)) return fault;
  const Type<Message>* known = nullptr;
  for (const Type<Message>& type : types) {
    if (type.name != name) continue;
    known = &type;
    break;
  }
  Values values;
  const Fault fault =
      read_fields(reader, pairs, known ? known->fields : std::span<const Field>(), values);
  if (known == nullptr) return fault ? fault : kUnknownType;
  return known->take(fault, values, message);
}

}  // namespace

Fault decode(std::string_view frame, ClientMessage& message) noexcept {
  return decode_one_of<ClientMessage>(kClientTypes, frame, message);
}

Fault decode(std::string_view frame, DaemonMessage& message) noexcept {
  return decode_one_of<DaemonMessage>(kDaemonTypes, frame, message);
}

Fault decode(std::string_view frame, ControlRequest& message) noexcept {
  return decode_one_of<ControlRequest>(kControlTypes, frame, message);
}

Error Fault::error() const {
  static constexpr std::array<std::string_view, 5> kCodes = {"", "malformed", "unknown_type",
                                                             "version", "invalid"};
  const Text name(kCodes[static_cast<std::size_t>(code)]);
  if (code == Code::version) {
    return {name, MessageText("version " + std::to_string(version) +
                              " is not spoken here: this daemon speaks version " +
                              std::to_string(kVersion))};
  }
  const std::string subject = field.empty() ? "the frame" : std::string(field);
  return {name, MessageText(subject + " " + std::string(reason))};
}

}  // namespace gearshift::wire
