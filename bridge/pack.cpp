#include <cmath>
#include <msgpack.hpp>

#include "bridge/protocol.h"

namespace gearshift::wire {
namespace {

using Packer = msgpack::packer<FrameBuffer>;

void put(Packer& packer, std::string_view text) {
  packer.pack_str(static_cast<std::uint32_t>(text.size()));
  packer.pack_str_body(text.data(), static_cast<std::uint32_t>(text.size()));
}
void put(Packer& packer, bool value) { value ? packer.pack_true() : packer.pack_false(); }
void put(Packer& packer, std::int64_t value) { packer.pack_int64(value); }
void put(Packer& packer, std::int32_t value) { packer.pack_int64(value); }
void put(Packer& packer, std::uint32_t value) { packer.pack_int64(value); }
void put(Packer& packer, std::uint64_t value) { packer.pack_uint64(value); }
void put(Packer& packer, Duration duration) { packer.pack_int64(duration.count()); }

template <typename Value>
void entry(Packer& packer, std::string_view key, Value value) {
  put(packer, key);
  put(packer, value);
}

// Starts the frame: a map of `fields` and the type.
Packer begin(FrameBuffer& buffer, std::string_view type, std::uint32_t fields) {
  buffer.clear();
  Packer packer(buffer);
  packer.pack_map(fields + 1);
  entry(packer, "type", type);
  return Packer(buffer);
}

}  // namespace

void pack(FrameBuffer& buffer, const Heartbeat&) { begin(buffer, "heartbeat", 0); }
void pack(FrameBuffer& buffer, const Bye&) { begin(buffer, "bye", 0); }
void pack(FrameBuffer& buffer, const StatusRequest&) { begin(buffer, "status", 0); }
void pack(FrameBuffer& buffer, const ExplainRequest& request) {
  Packer packer = begin(buffer, "explain", 1);
  entry(packer, "from", request.from);
}
void pack(FrameBuffer& buffer, const StopRequest&) { begin(buffer, "stop", 0); }
void pack(FrameBuffer& buffer, const Ok&) { begin(buffer, "ok", 0); }

void pack(FrameBuffer& buffer, const Hello& hello) {
  const bool has_latency = hello.latency > Duration::zero();
  Packer packer = begin(buffer, "hello", 7U + (has_latency ? 1U : 0U) + (hello.saves ? 1U : 0U));
  entry(packer, "version", hello.version);
  entry(packer, "name", hello.name.view());
  entry(packer, "kind", kind_name(hello.kind));
  entry(packer, "pid", hello.pid);
  entry(packer, "batch_size", hello.batch_size);
  put(packer, std::string_view("batch_sizes"));
  packer.pack_array(hello.batch_size_count);
  for (std::size_t i = 0; i < hello.batch_size_count; ++i) put(packer, hello.batch_sizes[i]);
  entry(packer, "samples_per_epoch", hello.samples_per_epoch);
  if (has_latency) entry(packer, "latency_ns", hello.latency);
  if (hello.saves) entry(packer, "saves", true);
}

void pack(FrameBuffer& buffer, const Report& report) {
  Packer packer = begin(buffer, "minibatch", 7);
  entry(packer, "sequence", report.sequence);
  entry(packer, "set", report.set);
  entry(packer, "epoch", report.epoch);
  entry(packer, "batch_size", report.batch_size);
  entry(packer, "elapsed_ns", report.elapsed);
  entry(packer, "fetch_stall_ns", report.fetch_stall);
  entry(packer, "compute_ns", report.compute);
}

void pack(FrameBuffer& buffer, const Requests& requests) {
  Packer packer = begin(buffer, "requests", 12);
  entry(packer, "sequence", requests.sequence);
  entry(packer, "set", requests.set);
  entry(packer, "span_ns", requests.span);
  entry(packer, "arrived", requests.arrived);
  entry(packer, "served", requests.served);
  entry(packer, "late", requests.late);
  entry(packer, "refused", requests.refused);
  entry(packer, "queued", requests.queued);
  entry(packer, "latency_p50_ns", requests.latency_p50);
  entry(packer, "latency_p95_ns", requests.latency_p95);
  entry(packer, "latency_p99_ns", requests.latency_p99);
  entry(packer, "latency_max_ns", requests.latency_max);
}

void pack(FrameBuffer& buffer, const Applied& applied) {
  Packer packer = begin(buffer, "applied", 3);
  entry(packer, "set", applied.set);
  entry(packer, "batch_size", applied.batch_size);
  entry(packer, "run", run_name(applied.run));
}

void pack(FrameBuffer& buffer, const Refused& refused) {
  Packer packer = begin(buffer, "refused", 3);
  entry(packer, "set", refused.set);
  entry(packer, "code", refused.code.view());
  entry(packer, "message", refused.message.view());
}

void pack(FrameBuffer& buffer, const Saved& saved) {
  Packer packer = begin(buffer, "saved", 2);
  entry(packer, "checkpoint", saved.checkpoint);
  entry(packer, "elapsed_ns", saved.elapsed);
}

void pack(FrameBuffer& buffer, const Unsaved& unsaved) {
  Packer packer = begin(buffer, "unsaved", 2);
  entry(packer, "checkpoint", unsaved.checkpoint);
  entry(packer, "message", unsaved.message.view());
}

void pack(FrameBuffer& buffer, const CheckpointRequest& request) {
  Packer packer = begin(buffer, "checkpoint", 2);
  entry(packer, "checkpoint", request.checkpoint);
  entry(packer, "within_ns", request.within);
}

void pack(FrameBuffer& buffer, const TurnRequest& request) {
  Packer packer = begin(buffer, "turn_request", 1);
  entry(packer, "turn", request.turn);
}

void pack(FrameBuffer& buffer, const TurnEnd& end) {
  Packer packer = begin(buffer, "turn_end", 1);
  entry(packer, "turn", end.turn);
}

void pack(FrameBuffer& buffer, const Turn& turn) {
  Packer packer = begin(buffer, "turn", 2);
  entry(packer, "turn", turn.turn);
  entry(packer, "longest_ns", turn.longest);
}

void pack(FrameBuffer& buffer, const Welcome& welcome) {
  Packer packer = begin(buffer, "welcome", 6);
  entry(packer, "version", welcome.version);
  entry(packer, "workload", welcome.workload);
  entry(packer, "managed", welcome.managed);
  entry(packer, "heartbeat_ns", welcome.heartbeat);
  entry(packer, "silent_after_ns", welcome.silent_after);
  entry(packer, "message", welcome.message.view());
}

void pack(FrameBuffer& buffer, const Set& set) {
  Packer packer = begin(buffer, "set", 3);
  entry(packer, "set", set.set);
  entry(packer, "batch_size", set.batch_size);
  entry(packer, "run", run_name(set.run));
}

void pack(FrameBuffer& buffer, const Error& error) {
  Packer packer = begin(buffer, "error", 2);
  entry(packer, "code", error.code.view());
  entry(packer, "message", error.message.view());
}

void pack(FrameBuffer& buffer, const CapRequest& request) {
  Packer packer = begin(buffer, "cap", 1);
  entry(packer, "power_mw", request.power_mw);
}

void pack(FrameBuffer& buffer, const GoalRequest& request) {
  const GoalChange& change = request.change;
  Packer packer =
      begin(buffer, "goal", (change.objective ? 1U : 0U) + (change.energy_weight ? 1U : 0U));
  if (change.objective) entry(packer, "objective", objective_name(*change.objective));
  if (change.energy_weight) {
    const std::int64_t weight_ppm = std::llround(*change.energy_weight * kMillion);
    entry(packer, "energy_weight_ppm", weight_ppm);
  }
}

}  // namespace gearshift::wire
