#include "bridge/status_answer.h"

#include <algorithm>
#include <cstddef>
#include <msgpack.hpp>

#include "bridge/answer_reader.h"
#include "bridge/battery_answer.h"

namespace gearshift::wire {
namespace {

// Of a path that is too long its end, which has the name.
std::string_view end_of(std::string_view path) {
  return path.substr(path.size() - std::min(path.size(), kMaxMessageBytes));
}

}  // namespace

void pack(FrameBuffer& buffer, const Status& status, const KnobSpace& knobs, std::string_view plan,
          std::string_view heat, const RecordingState& recording) {
  AnswerWriter answer(buffer, "status", 35);
  answer.add("phase", phase_name(status.phase));
  answer.add("power_known", status.power_known);
  answer.add("power_is_estimate", status.power_is_estimate);
  answer.add("power_mw", status.power_mw);
  answer.add("cap_mw", status.cap_mw);
  answer.add("cap_source", status.cap_source.view());
  answer.add("objective", objective_name(status.goal.objective));
  answer.add("objective_by_default", status.goal.objective_by_default);
  answer.add("energy_weight_ppm", rounded(status.goal.energy_weight * kMillion));
  answer.add("reference_ns", rounded(status.goal.reference_s * 1e9));
  answer.add("reference_uj", rounded(status.goal.reference_j * 1e6));
  answer.add("priced_power_mw", status.goal.priced_power_mw);
  answer.add("latency_ns", status.goal.latency.value_or(Duration::zero()).count());
  answer.add("energy_uj", rounded(status.goal.energy_j.value_or(0) * 1e6));
  answer.key("mode");
  const PowerMode& mode = status.setting.mode;
  const std::size_t named = std::min<std::size_t>(mode.count, knobs.size());
  answer.begin_map(named);
  for (std::size_t i = 0; i < named; ++i) {
    const Knob& knob = knobs.knobs[i];
    answer.add(knob.name, static_cast<double>(mode.values[i]) / unit_scale(knob.unit));
  }
  answer.add("batch_size", status.setting.batch_size);
  answer.add("run", run_name(status.setting.run));
  answer.add("minibatch_ns", std::array<std::int64_t, kKinds>{status.minibatch[0].count(),
                                                              status.minibatch[1].count()});
  answer.add("workloads", status.workloads);
  answer.add("measurements", status.measurements);
  answer.add("repeats", status.repeats);
  answer.add("drifts", status.drifts);
  const double per_s = status.goal.arrivals_per_s;
  answer.add("arrival_interval_ns", per_s > 0 ? rounded(1e9 / per_s) : 0);
  answer.add("latency_p99_ns", status.requests.latency_p99.count());
  answer.add("requests_served", status.requests.served);
  answer.add("requests_late", status.requests.late);
  answer.add("requests_queued", status.requests.queued);
  answer.add("battery", battery_row(status.battery));
  answer.add("battery_age_ns", age_ns(status.battery, status.time));
  answer.add("plan", plan.substr(0, kMaxMessageBytes));
  answer.add("heat", heat.substr(0, kMaxMessageBytes));
  answer.add("recording", end_of(recording.file));
  answer.add("recording_bytes", recording.bytes);
  answer.add("recording_end", std::string_view(recording.end).substr(0, kMaxMessageBytes));
  answer.add("recording_ended_unix_ms", recording.ended_unix_ms);
}

StatusAnswer decode_status(std::string_view frame) {
  const AnswerReader answer(frame);
  answer.require_type("status");
  StatusAnswer status;
  status.phase = answer.get<std::string>("phase");
  status.power_known = answer.get<bool>("power_known");
  status.power_is_estimate = answer.get<bool>("power_is_estimate");
  status.power_mw = answer.get<std::int64_t>("power_mw");
  status.cap_mw = answer.get<std::int64_t>("cap_mw");
  status.cap_source = answer.get<std::string>("cap_source");
  status.objective = answer.get<std::string>("objective");
  status.objective_by_default = answer.bool_or_false("objective_by_default");
  status.energy_weight_ppm = answer.get<std::int64_t>("energy_weight_ppm");
  status.reference_ns = answer.get<std::int64_t>("reference_ns");
  status.reference_uj = answer.get<std::int64_t>("reference_uj");
  status.priced_power_mw = answer.get<std::int64_t>("priced_power_mw");
  status.latency_ns = answer.get<std::int64_t>("latency_ns");
  status.energy_uj = answer.get<std::int64_t>("energy_uj");
  status.mode = answer.get<msgpack::type::assoc_vector<std::string, double>>("mode");
  status.batch_size = answer.get<decltype(status.batch_size)>("batch_size");
  status.run = answer.get<std::string>("run");
  status.minibatch_ns = answer.get<decltype(status.minibatch_ns)>("minibatch_ns");
  status.workloads = answer.get<std::int64_t>("workloads");
  status.measurements = answer.get<std::int64_t>("measurements");
  status.repeats = answer.get<std::int64_t>("repeats");
  status.drifts = answer.get<std::int64_t>("drifts");
  status.arrival_interval_ns = answer.get<std::int64_t>("arrival_interval_ns");
  status.latency_p99_ns = answer.get<std::int64_t>("latency_p99_ns");
  status.requests_served = answer.get<std::int64_t>("requests_served");
  status.requests_late = answer.get<std::int64_t>("requests_late");
  status.requests_queued = answer.get<std::int64_t>("requests_queued");
  status.battery = read_battery(answer.get<std::vector<std::int64_t>>("battery"));
  status.battery_age_ns = answer.span_ns_or_zero("battery_age_ns");
  status.plan = answer.get<std::string>("plan");
  status.heat = answer.text_or_empty("heat");
  status.recording = {answer.text_or_empty("recording"), answer.integer_or_zero("recording_bytes"),
                      answer.text_or_empty("recording_end"),
                      answer.integer_or_zero("recording_ended_unix_ms")};
  return status;
}

void decode_ok(std::string_view frame) { AnswerReader(frame).require_type("ok"); }

}  // namespace gearshift::wire
