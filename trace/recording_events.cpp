#include "trace/recording_events.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "trace/goal_change_text.h"

namespace gearshift {
namespace {

// Of a row that begins with its workload.
Event event_of(const Cursor& row, EventType type) {
  Event event;
  event.type = type;
  event.handle = row.integer<WorkloadHandle>(2, "workload");
  return event;
}

}  // namespace

Event read_minibatch(const Cursor& row) {
  Event event = event_of(row, EventType::minibatch);
  Minibatch& minibatch = event.minibatch;
  minibatch.workload = event.handle;
  minibatch.kind = row.word<Kind>(3, "kind");
  minibatch.batch_size = row.integer<std::int32_t>(4, "batch_size", 0);
  minibatch.set_sequence = row.integer<std::uint32_t>(5, "set_sequence");
  minibatch.epoch = row.integer<std::uint32_t>(6, "epoch");
  minibatch.sequence = static_cast<std::uint64_t>(row.integer<std::int64_t>(7, "sequence"));
  minibatch.elapsed = row.duration(8, "elapsed_ns");
  minibatch.fetch_stall = row.duration(9, "fetch_stall_ns");
  minibatch.compute = row.duration(10, "compute_ns");
  minibatch.received = row.time(11, "received_ns");
  return event;
}

Event read_requests(const Cursor& row) {
  Event event = event_of(row, EventType::requests);
  RequestReport& requests = event.requests;
  requests.workload = event.handle;
  requests.sequence = static_cast<std::uint64_t>(row.integer<std::int64_t>(3, "sequence"));
  requests.set_sequence = row.integer<std::uint32_t>(4, "set_sequence");
  requests.span = row.duration(5, "span_ns");
  requests.arrived = row.integer<std::uint32_t>(6, "arrived");
  requests.served = row.integer<std::uint32_t>(7, "served");
  requests.late = row.integer<std::uint32_t>(8, "late");
  requests.refused = row.integer<std::uint32_t>(9, "refused");
  requests.queued = row.integer<std::uint32_t>(10, "queued");
  requests.latency_p50 = row.duration(11, "latency_p50_ns");
  requests.latency_p95 = row.duration(12, "latency_p95_ns");
  requests.latency_p99 = row.duration(13, "latency_p99_ns");
  requests.latency_max = row.duration(14, "latency_max_ns");
  requests.received = row.time(15, "received_ns");
  return event;
}

Event read_workload(const Cursor& row, std::int64_t version) {
  Event event = event_of(row, EventType::attached);
  Workload& workload = event.workload;
  workload.handle = event.handle;
  workload.kind = row.word<Kind>(3, "kind");
  workload.managed = row.flag(4, "managed");
  workload.pid = row.integer<std::int32_t>(5, "pid", 0);
  workload.batch_size = row.integer<std::int32_t>(6, "batch_size", 0);
  std::string_view sizes = row.text(7);
  while (!sizes.empty()) {
    const std::string_view one = sizes.substr(0, sizes.find(','));
    std::int32_t size = 0;
    const auto parsed = std::from_chars(one.data(), one.data() + one.size(), size);
    const bool whole = parsed.ec == std::errc() && parsed.ptr == one.data() + one.size();
    if (!whole || size < 0 || workload.batch_size_count == kMaxBatchSizes) {
      row.fail("batch_sizes",
               "'" + std::string(one.substr(0, 64)) + "' is not one of at most 32 batch sizes");
    }
    workload.batch_sizes[workload.batch_size_count++] = size;
    sizes.remove_prefix(std::min(one.size() + 1, sizes.size()));
  }
  workload.samples_per_epoch = row.integer<std::int64_t>(8, "samples_per_epoch", 0);
  workload.name = BoundedText<64>(row.text(9));
  if (version > 1) {
    workload.latency = Duration(row.integer<std::int64_t>(10, "latency_ns", 0, kMostLatencyNs));
  }
  if (version > 2) workload.saves = row.flag(11, "saves");
  return event;
}

Event read_event(const Cursor& row) {
  Event event;
  event.type = row.word<EventType>(2, "type");
  if (event.type == EventType::attached || event.type == EventType::minibatch ||
      event.type == EventType::requests) {
    row.fail("type", std::string(row.text(2)) + " has a table of its own");
  }
  event.handle = row.integer<WorkloadHandle>(3, "workload");
  event.batch_size = row.integer<std::int32_t>(4, "batch_size");
  event.set_sequence = row.integer<std::uint32_t>(5, "set_sequence");
  event.signal = row.integer<std::int32_t>(6, "signal");
  event.power_mw = row.power_mw(7, "power_mw");
  event.text = BoundedText<96>(row.text(8));
  if (event.type != EventType::goal) return event;
  const auto goal = parse_goal_change(row.text(8));
  if (!goal) {
    row.fail("text", "'" + std::string(row.text(8).substr(0, 64)) + "' is no change of a goal");
  }
  event.goal = *goal;
  event.text = {};
  return event;
}

}  // namespace gearshift
