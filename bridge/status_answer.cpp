#include "bridge/status_answer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <msgpack.hpp>
#include <stdexcept>

namespace gearshift::wire {
namespace {

using Packer = msgpack::packer<FrameBuffer>;

void key(Packer& packer, std::string_view name) {
  packer.pack_str(static_cast<std::uint32_t>(name.size()));
  packer.pack_str_body(name.data(), static_cast<std::uint32_t>(name.size()));
}

void entry(Packer& packer, std::string_view name, std::string_view text) {
  key(packer, name);
  key(packer, text);
}

template <typename Value>
void entry(Packer& packer, std::string_view name, const Value& value) {
  key(packer, name);
  packer.pack(value);
}

std::int64_t rounded(double number) { return std::llround(number); }

// Unpacks with a bound on everything; the daemon is trusted, but not the file the socket is.
msgpack::object_handle unpack(std::string_view frame) {
  const msgpack::unpack_limit limit(kMaxMapEntries, kMaxMapEntries, kMaxMessageBytes, 0, 0,
                                    kMaxDepth);
  try {
    if (frame.size() > kMaxFrameBytes) throw msgpack::parse_error("larger than 4096 bytes");
    return msgpack::unpack(frame.data(), frame.size(), nullptr, nullptr, limit);
  } catch (const std::exception& error) {
    throw std::runtime_error("the answer is no message of gearshift: " + std::string(error.what()));
  }
}

class Answer {
 public:
  explicit Answer(std::string_view frame) : handle_(unpack(frame)) {
    try {
      handle_.get().convert(fields_);
      type_ = get<std::string>("type");
    } catch (const msgpack::type_error&) {
      throw std::runtime_error("the answer is no message of gearshift: not a map");
    }
    if (type_ == "error") {
      throw std::runtime_error("the daemon refused: " + get<std::string>("message"));
    }
  }

  void require_type(const std::string& type) const {
    if (type_ != type) {
      throw std::runtime_error("the answer is of type '" + type_ + "', wanted '" + type + "'");
    }
  }

  template <typename Value>
  Value get(const std::string& name) const {
    const auto found = fields_.find(name);
    if (found == fields_.end()) throw std::runtime_error("the answer has no field '" + name + "'");
    try {
      return found->second.as<Value>();
    } catch (const msgpack::type_error&) {
      throw std::runtime_error("the answer's field '" + name + "' has another type");
    }
  }

 private:
  msgpack::object_handle handle_;
  std::map<std::string, msgpack::object> fields_;
  std::string type_;
};

}  // namespace

void pack(FrameBuffer& buffer, const Status& status, const KnobSpace& knobs) {
  buffer.clear();
  Packer packer(buffer);
  packer.pack_map(27);
  entry(packer, "type", std::string_view("status"));
  entry(packer, "phase", phase_name(status.phase));
  entry(packer, "power_known", status.power_known);
  entry(packer, "power_is_estimate", status.power_is_estimate);
  entry(packer, "power_mw", status.power_mw);
  entry(packer, "cap_mw", status.cap_mw);
  entry(packer, "cap_source", status.cap_source.view());
  entry(packer, "objective", objective_name(status.goal.objective));
  entry(packer, "energy_weight_ppm", rounded(status.goal.energy_weight * kMillion));
  entry(packer, "reference_ns", rounded(status.goal.reference_s * 1e9));
  entry(packer, "reference_uj", rounded(status.goal.reference_j * 1e6));
  entry(packer, "priced_power_mw", status.goal.priced_power_mw);
  entry(packer, "latency_ns", status.goal.latency.value_or(Duration::zero()).count());
  entry(packer, "energy_uj", rounded(status.goal.energy_j.value_or(0) * 1e6));
  key(packer, "mode");
  const PowerMode& mode = status.setting.mode;
  const std::size_t named = std::min<std::size_t>(mode.count, knobs.size());
  packer.pack_map(static_cast<std::uint32_t>(named));
  for (std::size_t i = 0; i < named; ++i) {
    const Knob& knob = knobs.knobs[i];
    entry(packer, knob.name, static_cast<double>(mode.values[i]) / unit_scale(knob.unit));
  }
  entry(packer, "batch_size", status.setting.batch_size);
  entry(packer, "run", run_name(status.setting.run));
  entry(packer, "minibatch_ns",
        std::array<std::int64_t, kKinds>{status.minibatch[0].count(), status.minibatch[1].count()});
  entry(packer, "workloads", status.workloads);
  entry(packer, "measurements", status.measurements);
  entry(packer, "repeats", status.repeats);
  entry(packer, "drifts", status.drifts);
  const double per_s = status.goal.arrivals_per_s;
  entry(packer, "arrival_interval_ns", per_s > 0 ? rounded(1e9 / per_s) : 0);
  entry(packer, "latency_p99_ns", status.requests.latency_p99.count());
  entry(packer, "requests_served", status.requests.served);
  entry(packer, "requests_late", status.requests.late);
  entry(packer, "requests_queued", status.requests.queued);
}

StatusAnswer decode_status(std::string_view frame) {
  const Answer answer(frame);
  answer.require_type("status");
  StatusAnswer status;
  status.phase = answer.get<std::string>("phase");
  status.power_known = answer.get<bool>("power_known");
  status.power_is_estimate = answer.get<bool>("power_is_estimate");
  status.power_mw = answer.get<std::int64_t>("power_mw");
  status.cap_mw = answer.get<std::int64_t>("cap_mw");
  status.cap_source = answer.get<std::string>("cap_source");
  status.objective = answer.get<std::string>("objective");
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
  return status;
}

void decode_ok(std::string_view frame) { Answer(frame).require_type("ok"); }

}  // namespace gearshift::wire
