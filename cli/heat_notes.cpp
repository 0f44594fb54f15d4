#include "cli/heat_notes.h"

#include <spdlog/fmt/fmt.h>

namespace gearshift {

HeatNotes::HeatNotes(Recorder& next, const ThermalLimit* limit, const Sensor* sensor)
    : next_(next), limit_(limit), sensor_(sensor) {
  if (limit_ == nullptr) return;
  for (const ThermalZoneLimit& zone : limit_->zones()) {
    Zone& added = zones_.emplace_back();
    added.limit = zone;
    added.newest.channel = zone.channel;
  }
}

void HeatNotes::tick(const TickInputs& inputs) {
  next_.tick(inputs);
  for (const Reading& reading : inputs.readings) {
    if (reading.quantity != Quantity::temperature) continue;
    for (Zone& zone : zones_) {
      if (zone.limit.channel == reading.channel) zone.newest = reading;
    }
  }
}

void HeatNotes::status(const Status& status) {
  next_.status(status);
  std::string back;
  bool changed = false;
  for (Zone& zone : zones_) {
    const bool lost = limit_->lost(zone.limit.channel, status.time);
    if (lost == zone.lost) continue;
    zone.lost = lost;
    changed = true;
    if (!lost) back += fmt::format("{}{}", back.empty() ? "" : ", ", zone.limit.type);
  }
  if (changed) tell(back, status.time);
}

void HeatNotes::tell(const std::string& back, Time now) {
  std::string text = back.empty() ? "" : "temperature is known again: " + back;
  std::string lost;
  std::int64_t count = 0;
  for (const Zone& zone : zones_) {
    if (!zone.lost) continue;
    ++count;
    lost += fmt::format("{}{}", lost.empty() ? "" : "; ", cause(zone));
  }
  if (count > 0) {
    text += fmt::format(
        "{}no temperature for {:.0f} s, so the lowest mode is held: {}; the way out, where that is "
        "for good: --thermal off, or a board file without this zone",
        text.empty() ? "" : "; ", seconds(limit_->stale_after()), lost);
  }
  next_.note({.type = NoteType::temperature, .time = now, .value = count, .text = text});
}

std::string HeatNotes::cause(const Zone& zone) const {
  std::string said = sensor_ != nullptr ? sensor_->explain(zone.newest) : "";
  if (!said.empty()) return said;
  if (zone.newest.state != ReadingState::ok) return zone.limit.type + ": no reading";
  const double temperature_c = static_cast<double>(zone.newest.value) / 1000;
  return fmt::format("{}: {:.1f} C, {}", zone.limit.type, temperature_c,
                     zone.newest.value == 0 ? "which is what a failed sensor says"
                                            : "much colder at once than anything cools down");
}

}  // namespace gearshift
