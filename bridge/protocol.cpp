#include "bridge/protocol.h"

#include <optional>
#include <span>

#include "bridge/field_table.h"

namespace gearshift::wire {
namespace {

constexpr Fault kUnknownType{Fault::Code::unknown_type, "type", "is unknown", 0};

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
    {"latency_ns", Form::integer, 0, kMaxElapsed.count(), Need::optional},
    {"saves", Form::boolean, 0, 0, Need::optional},
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
constexpr Field kRequestsFields[] = {
    {"sequence", Form::integer, 1, kMaxInteger},
    {"set", Form::integer, 0, UINT32_MAX},
    {"span_ns", Form::integer, 1, kMaxElapsed.count()},
    {"arrived", Form::integer, 0, UINT32_MAX},
    {"served", Form::integer, 0, UINT32_MAX},
    {"late", Form::integer, 0, UINT32_MAX},
    {"refused", Form::integer, 0, UINT32_MAX},
    {"queued", Form::integer, 0, UINT32_MAX},
    {"latency_p50_ns", Form::integer, 0, kMaxElapsed.count()},
    {"latency_p95_ns", Form::integer, 0, kMaxElapsed.count()},
    {"latency_p99_ns", Form::integer, 0, kMaxElapsed.count()},
    {"latency_max_ns", Form::integer, 0, kMaxElapsed.count()},
};
constexpr Field kSettingFields[] = {kSetField, kBatchSizeField, kRunField};
constexpr Field kRefusedFields[] = {kSetField, kCodeField, kMessageField};
constexpr Field kWelcomeFields[] = {
    kVersionField,
    {"workload", Form::integer, 1, UINT32_MAX},
    {"managed", Form::boolean},
    {"heartbeat_ns", Form::integer, 1, kMaxElapsed.count()},
    {"silent_after_ns", Form::integer, 1, kMaxElapsed.count()},
    kMessageField,
};
constexpr Field kTurnNumberField{"turn", Form::integer, 1, kMaxInteger};
constexpr Field kTurnNumberFields[] = {kTurnNumberField};
constexpr Field kTurnFields[] = {kTurnNumberField,
                                 {"longest_ns", Form::integer, 1, kMaxElapsed.count()}};
constexpr Field kCheckpointField{"checkpoint", Form::integer, 1, UINT32_MAX};
constexpr Field kCheckpointFields[] = {kCheckpointField,
                                       {"within_ns", Form::integer, 1, kMaxElapsed.count()}};
constexpr Field kSavedFields[] = {kCheckpointField,
                                  {"elapsed_ns", Form::integer, 0, kMaxElapsed.count()}};
constexpr Field kUnsavedFields[] = {kCheckpointField, kMessageField};
constexpr Field kErrorFields[] = {kCodeField, kMessageField};
constexpr Field kGoalFields[] = {
    {"objective", Form::text, 1, kMaxTextBytes, Need::optional},
    {"energy_weight_ppm", Form::integer, 0, kMillion, Need::optional},
};
constexpr Field kExplainFields[] = {{"from", Form::integer, 0, UINT32_MAX, Need::optional}};
constexpr Field kCapFields[] = {{"power_mw", Form::integer, 0, kMaxPowerMw}};

Report build_report(const Values& values) {
  return {static_cast<std::uint64_t>(values.integer(0)),
          static_cast<std::uint32_t>(values.integer(1)),
          static_cast<std::uint32_t>(values.integer(2)),
          static_cast<std::int32_t>(values.integer(3)),
          values.duration(4),
          values.duration(5),
          values.duration(6)};
}

Requests build_requests(const Values& values) {
  const auto count = [&values](std::size_t i) {
    return static_cast<std::uint32_t>(values.integer(i));
  };
  return {static_cast<std::uint64_t>(values.integer(0)),
          count(1),
          values.duration(2),
          count(3),
          count(4),
          count(5),
          count(6),
          count(7),
          values.duration(8),
          values.duration(9),
          values.duration(10),
          values.duration(11)};
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

// A checkpoint's number, and a time: of the answer, or of the request.
template <typename Message>
Message build_checkpoint(const Values& values) {
  return {static_cast<std::uint32_t>(values.integer(0)), values.duration(1)};
}

Unsaved build_unsaved(const Values& values) {
  return {static_cast<std::uint32_t>(values.integer(0)), MessageText(values.field[1].text)};
}

Welcome build_welcome(const Values& values) {
  return {values.integer(0),      static_cast<WorkloadHandle>(values.integer(1)),
          values.integer(2) != 0, values.duration(3),
          values.duration(4),     MessageText(values.field[5].text)};
}

template <typename Message>
Message build_turn_number(const Values& values) {
  return {static_cast<std::uint64_t>(values.integer(0))};
}

Turn build_turn(const Values& values) {
  return {static_cast<std::uint64_t>(values.integer(0)), values.duration(1)};
}

Error build_error(const Values& values) {
  return {Text(values.field[0].text), MessageText(values.field[1].text)};
}

CapRequest build_cap(const Values& values) { return {values.integer(0)}; }
ExplainRequest build_explain(const Values& values) {
  return {static_cast<std::uint32_t>(values.integer(0))};
}

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
  hello.latency = values.duration(7);
  hello.saves = values.integer(8) != 0;
  for (std::size_t i = 0; i < hello.batch_size_count; ++i) {
    if (hello.batch_sizes[i] == hello.batch_size) {
      message = hello;
      return {};
    }
  }
  return invalid("batch_size", "is not one of batch_sizes");
}

Fault take_requests(const Fault& fault, const Values& values, ClientMessage& message) {
  if (fault) return fault;
  const Requests requests = build_requests(values);
  if (requests.refused > requests.late) {
    return invalid("refused", "is more than late, which counts the refused too");
  }
  if (requests.late - requests.refused > requests.served) {
    return invalid("late", "is more than served and refused together");
  }
  if (requests.latency_p50 > requests.latency_p95 || requests.latency_p95 > requests.latency_p99 ||
      requests.latency_p99 > requests.latency_max) {
    return invalid("latency_p50_ns", "and the other quantiles do not ascend");
  }
  message = requests;
  return {};
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
      return invalid("objective", "is none of time, energy, latency, weighted, target, throughput");
    }
  }
  if (values.field[1].present) {
    request.change.energy_weight = static_cast<double>(values.integer(1)) / kMillion;
  }
  if (!request.change.objective && !request.change.energy_weight) {
    return invalid("goal", "changes nothing: it has neither objective nor energy_weight_ppm");
  }
  message = request;
  return {};
}

// The most frequent first.
constexpr Type<ClientMessage> kClientTypes[] = {
    {"minibatch", kReportFields, take<build_report>},
    {"turn_request", kTurnNumberFields, take<build_turn_number<TurnRequest>>},
    {"turn_end", kTurnNumberFields, take<build_turn_number<TurnEnd>>},
    {"heartbeat", {}, take<build_empty<Heartbeat>>},
    {"requests", kRequestsFields, take_requests},
    {"hello", kHelloFields, take_hello},
    {"applied", kSettingFields, take<build_setting<Applied>>},
    {"refused", kRefusedFields, take<build_refused>},
    {"saved", kSavedFields, take<build_checkpoint<Saved>>},
    {"unsaved", kUnsavedFields, take<build_unsaved>},
    {"bye", {}, take<build_empty<Bye>>},
};
constexpr Type<DaemonMessage> kDaemonTypes[] = {
    {"set", kSettingFields, take<build_setting<Set>>},
    {"turn", kTurnFields, take<build_turn>},
    {"checkpoint", kCheckpointFields, take<build_checkpoint<CheckpointRequest>>},
    {"heartbeat", {}, take<build_empty<Heartbeat>>},
    {"welcome", kWelcomeFields, take<build_welcome>},
    {"error", kErrorFields, take<build_error>},
    {"bye", {}, take<build_empty<Bye>>},
};
constexpr Type<ControlRequest> kControlTypes[] = {
    {"status", {}, take<build_empty<StatusRequest>>},
    {"explain", kExplainFields, take<build_explain>},
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
