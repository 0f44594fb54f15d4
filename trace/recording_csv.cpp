#include "trace/recording_csv.h"

#include <map>
#include <ostream>

#include "trace/csv_text.h"
#include "trace/knobs_in_force.h"
#include "trace/recording_names.h"

namespace gearshift {
namespace {

std::string milliseconds(Duration duration) { return shortest_text(seconds(duration) * 1e3); }

void write_knobs(const KnobSpace& space, const KnobsInForce::Values* values, std::ostream& out) {
  for (std::size_t i = 0; i < space.size(); ++i) {
    out << ',';
    if (values == nullptr || !(*values)[i]) continue;
    out << describe_value(space.knobs[i].unit, *(*values)[i]);
  }
}

// A thousand times what readings count in.
std::string_view unit_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::power:
    case Quantity::rail_power:
      return "W";
    case Quantity::temperature:
      return "C";
    case Quantity::battery_energy:
    case Quantity::battery_capacity:
      return "J";
    case Quantity::battery_voltage:
      return "V";
    case Quantity::battery_current:
      return "A";
  }
  return "";
}

}  // namespace

void write_minibatches_csv(RecordingReader& reader, std::ostream& out) {
  const KnobSpace& space = reader.header().knobs;
  out << "time_s,workload,kind,batch_size,epoch,sequence,minibatch_ms,fetch_stall_ms,compute_ms";
  for (const Knob& knob : space.knobs) out << ',' << csv_field(knob.name);
  out << '\n';
  std::map<WorkloadHandle, std::string> names;
  KnobsInForce knobs(reader.format());
  std::optional<Time> start;
  RecordedTick tick;
  while (reader.next(tick)) {
    if (!start) start = tick.now;
    knobs.see(tick);
    for (const Event& event : tick.events) {
      if (event.type == EventType::attached) names[event.handle] = event.workload.name.view();
      if (event.type != EventType::minibatch) continue;
      const Minibatch& minibatch = event.minibatch;
      out << shortest_text(seconds(minibatch.received - *start)) << ','
          << csv_field(names[minibatch.workload]) << ',' << word_of(minibatch.kind) << ','
          << minibatch.batch_size << ',' << minibatch.epoch << ',' << minibatch.sequence << ','
          << milliseconds(minibatch.elapsed) << ',' << milliseconds(minibatch.fetch_stall) << ','
          << milliseconds(minibatch.compute);
      const Time begin = minibatch.received - minibatch.elapsed;
      write_knobs(space, knobs.during(begin, minibatch.received), out);
      out << '\n';
    }
  }
}

void write_samples_csv(RecordingReader& reader, std::ostream& out) {
  out << "time_s,quantity,channel,value,unit,state,estimate\n";
  std::optional<Time> start;
  RecordedTick tick;
  while (reader.next(tick)) {
    if (!start) start = tick.now;
    for (const Reading& reading : tick.readings) {
      out << shortest_text(seconds(reading.taken - *start)) << ',' << word_of(reading.quantity)
          << ',' << static_cast<int>(reading.channel) << ',';
      if (reading.state == ReadingState::ok)
        out << shortest_text(static_cast<double>(reading.value) / 1e3);
      out << ',' << unit_of(reading.quantity) << ',' << word_of(reading.state) << ','
          << (reading.estimate ? 1 : 0) << '\n';
    }
  }
}

}  // namespace gearshift
