#include "trace/recording_rows.h"

#include <cassert>
#include <cstring>
#include <string>

#include "trace/recording_names.h"

namespace gearshift {
namespace {

// "INSERT INTO name VALUES (?,?,...)".
std::string insert(std::string_view table, int columns) {
  std::string sql = "INSERT INTO " + std::string(table) + " VALUES (?";
  for (int i = 1; i < columns; ++i) sql += ",?";
  return sql + ")";
}

template <typename Value>
Value value_of(std::span<const std::byte> bytes) {
  assert(bytes.size() >= sizeof(Value));
  Value value;
  std::memcpy(&value, bytes.data(), sizeof(Value));
  return value;
}

template <typename Value>
std::string_view text_after(std::span<const std::byte> bytes) {
  const auto rest = bytes.subspan(sizeof(Value));
  return {reinterpret_cast<const char*>(rest.data()), rest.size()};
}

std::int64_t nanoseconds(Time time) { return time.time_since_epoch().count(); }

}  // namespace

RecordingRows::RecordingRows(Database& database, const KnobSpace& knobs)
    : knobs_(knobs),
      tick_row_(database, insert("ticks", 2)),
      reading_(database, insert("readings", 7)),
      event_(database, insert("events", 9)),
      minibatch_(database, insert("minibatches", 12)),
      requests_(database, insert("requests", 16)),
      workload_(database, insert("workloads", 12)),
      knob_call_(database, insert("knob_calls", 10)),
      explanation_(database, insert("explanations", 4)),
      limit_(database, insert("limits", 6)),
      script_(database, insert("scripts", 2)),
      script_stop_(database, insert("script_stops", 2)),
      command_(database, insert("commands", 5)),
      setting_(database, insert("settings", 5 + static_cast<int>(kMaxKnobs))),
      observation_(database, insert("observations", 24)),
      note_(database, insert("notes", 8)) {}

void RecordingRows::write(EntryType type, std::span<const std::byte> bytes) {
  switch (type) {
    case EntryType::tick:
      return write(value_of<TickEntry>(bytes));
    case EntryType::reading:
      return write(value_of<Reading>(bytes));
    case EntryType::event:
      return write(value_of<EventEntry>(bytes), text_after<EventEntry>(bytes));
    case EntryType::minibatch:
      return write(value_of<MinibatchEntry>(bytes));
    case EntryType::requests:
      return write(value_of<RequestsEntry>(bytes));
    case EntryType::workload:
      return write(value_of<WorkloadEntry>(bytes));
    case EntryType::knob_call:
      return write(value_of<KnobCall>(bytes), text_after<KnobCall>(bytes));
    case EntryType::explanation:
      return write(value_of<Explanation>(bytes), text_after<Explanation>(bytes));
    case EntryType::limit:
      return write(value_of<LimitAnswer>(bytes));
    case EntryType::script:
      return script_.integer(tick_).text(text_after<ScriptEntry>(bytes)).run();
    case EntryType::script_stop:
      return write(value_of<ScriptStop>(bytes));
    case EntryType::command:
      return write(value_of<SentCommand>(bytes));
    case EntryType::note:
      return write(value_of<NoteEntry>(bytes), text_after<NoteEntry>(bytes));
  }
}

void RecordingRows::write(const TickEntry& entry) {
  tick_ = entry.number;
  tick_row_.integer(entry.number).integer(nanoseconds(entry.now)).run();
}

void RecordingRows::write(const Reading& reading) {
  reading_.integer(tick_)
      .text(word_of(reading.quantity))
      .integer(reading.channel)
      .text(word_of(reading.state))
      .integer(reading.estimate ? 1 : 0)
      .integer(reading.value)
      .integer(nanoseconds(reading.taken))
      .run();
}

void RecordingRows::write(const EventEntry& entry, std::string_view text) {
  event_.integer(tick_)
      .integer(entry.position)
      .text(word_of(entry.type))
      .integer(entry.handle)
      .integer(entry.batch_size)
      .integer(entry.set_sequence)
      .integer(entry.signal)
      .integer(entry.power_mw)
      .text(text)
      .run();
}

void RecordingRows::write(const MinibatchEntry& entry) {
  const Minibatch& minibatch = entry.minibatch;
  minibatch_.integer(tick_)
      .integer(entry.position)
      .integer(minibatch.workload)
      .text(word_of(minibatch.kind))
      .integer(minibatch.batch_size)
      .integer(minibatch.set_sequence)
      .integer(minibatch.epoch)
      .integer(static_cast<std::int64_t>(minibatch.sequence))
      .integer(minibatch.elapsed.count())
      .integer(minibatch.fetch_stall.count())
      .integer(minibatch.compute.count())
      .integer(nanoseconds(minibatch.received))
      .run();
}

void RecordingRows::write(const RequestsEntry& entry) {
  const RequestReport& requests = entry.requests;
  requests_.integer(tick_)
      .integer(entry.position)
      .integer(requests.workload)
      .integer(static_cast<std::int64_t>(requests.sequence))
      .integer(requests.set_sequence)
      .integer(requests.span.count());
  for (const std::uint32_t count :
       {requests.arrived, requests.served, requests.late, requests.refused, requests.queued}) {
    requests_.integer(count);
  }
  for (const Duration latency :
       {requests.latency_p50, requests.latency_p95, requests.latency_p99, requests.latency_max}) {
    requests_.integer(latency.count());
  }
  requests_.integer(nanoseconds(requests.received)).run();
}

void RecordingRows::write(const WorkloadEntry& entry) {
  const Workload& workload = entry.workload;
  std::string batch_sizes;
  for (std::size_t i = 0; i < workload.batch_size_count; ++i) {
    batch_sizes += (i == 0 ? "" : ",") + std::to_string(workload.batch_sizes[i]);
  }
  workload_.integer(tick_)
      .integer(entry.position)
      .integer(workload.handle)
      .text(word_of(workload.kind))
      .integer(workload.managed ? 1 : 0)
      .integer(workload.pid)
      .integer(workload.batch_size)
      .text(batch_sizes)
      .integer(workload.samples_per_epoch)
      .text(workload.name.view())
      .integer(workload.latency.count())
      .integer(workload.saves ? 1 : 0)
      .run();
}

void RecordingRows::write(const KnobCall& call, std::string_view text) {
  const bool of_knob = call.action == KnobAction::read || call.action == KnobAction::write;
  knob_call_.integer(tick_).integer(call.call).text(word_of(call.action));
  knob_call_.text(word_of(call.outcome));
  knob_call_.optional(of_knob ? std::optional<std::int64_t>(call.knob) : std::nullopt);
  knob_call_.optional(of_knob && call.known ? std::optional(call.value) : std::nullopt);
  if (call.action == KnobAction::manage) {
    knob_call_.integer(call.pid).text(word_of(call.kind));
  } else {
    knob_call_.null().null();
  }
  std::optional<std::int64_t> wrote_ns;
  if (call.wrote) wrote_ns = call.wrote->time_since_epoch().count();
  knob_call_.text(text).optional(wrote_ns).run();
}

void RecordingRows::write(const Explanation& explanation, std::string_view text) {
  explanation_.integer(tick_)
      .text(word_of(explanation.quantity))
      .integer(explanation.channel)
      .text(text)
      .run();
}

void RecordingRows::write(const LimitAnswer& answer) {
  limit_.integer(tick_)
      .integer(answer.source)
      .optional(answer.limit.power_mw)
      .optional(answer.limit.planned_mw)
      .integer(answer.limit.ends_soon ? 1 : 0)
      .integer(answer.limit.moves ? 1 : 0)
      .run();
}

void RecordingRows::write(const ScriptStop& stop) {
  script_stop_.integer(tick_).integer(stop.look).run();
}

void RecordingRows::write(const SentCommand& sent) {
  command_.integer(tick_)
      .integer(sent.workload)
      .integer(sent.command.sequence)
      .integer(sent.command.batch_size)
      .text(sent.command.type == CommandType::checkpoint ? kCheckpointWord
                                                         : word_of(sent.command.run))
      .run();
}

void RecordingRows::write(const NoteEntry& entry, std::string_view text) {
  std::optional<std::int64_t> setting;
  std::optional<std::int64_t> observation;
  if (entry.has_setting) setting = setting_row(entry.setting);
  if (entry.has_observation) observation = observation_row(entry.observation);
  note_.integer(tick_)
      .text(note_name(entry.type))
      .integer(nanoseconds(entry.time))
      .integer(entry.workload)
      .integer(entry.value)
      .optional(setting)
      .optional(observation)
      .text(text)
      .run();
}

std::int64_t RecordingRows::setting_row(const Setting& setting) {
  const auto next = static_cast<std::int64_t>(settings_.size());
  const auto [found, added] = settings_.try_emplace(setting, next);
  if (!added) return found->second;
  const std::string mode = setting.mode.count == knobs_.size() ? knobs_.describe(setting.mode) : "";
  setting_.integer(next).text(mode);
  setting_.integer(setting.batch_size[index(Kind::train)]);
  setting_.integer(setting.batch_size[index(Kind::infer)]);
  setting_.text(word_of(setting.run));
  for (std::size_t i = 0; i < kMaxKnobs; ++i) {
    setting_.optional(i < setting.mode.count ? std::optional(setting.mode.values[i])
                                             : std::nullopt);
  }
  setting_.run();
  return next;
}

std::int64_t RecordingRows::observation_row(const Observation& observation) {
  const std::int64_t setting = setting_row(observation.setting);
  const std::int64_t row = observations_++;
  observation_.integer(row).integer(tick_).integer(setting);
  observation_.text(outcome_name(observation.outcome));
  observation_.integer(observation.from_memory ? 1 : 0);
  observation_.integer(observation.power_is_estimate ? 1 : 0);
  observation_.integer(observation.power_mean_mw).integer(observation.power_max_mw);
  observation_.integer(observation.power_margin_mw).integer(observation.limit_mw);
  observation_.integer(observation.duration.count()).real(observation.confidence);
  for (const Cost& cost : observation.cost) {
    observation_.integer(cost.minibatches).integer(cost.minibatch_mean.count());
    observation_.integer(cost.minibatch_stddev.count()).integer(cost.minibatch_p99.count());
    observation_.integer(cost.fetch_stall_mean.count()).integer(cost.compute_mean.count());
  }
  observation_.run();
  return row;
}

}  // namespace gearshift
