// A rig that starts in the lowest mode, for tests of what the loop does about power.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fakes/rig.h"

namespace gearshift::fakes {

// Starts in the lowest mode, so that nothing is over a cap before the policy has asked.
struct LowRig : Rig {
  LowRig(ListPolicy::Decide decide, Duration end, std::optional<std::int64_t> cap_mw)
      : Rig(std::move(decide), end, cap_mw) {
    hardware.values = {1, 300000};
  }
};

// Measures each mode, then holds `choice` blindly.
inline ListPolicy::Decide then_hold(const std::vector<PowerMode>& modes, const PowerMode& choice) {
  return [modes, choice](const PolicyContext&, const std::vector<Observation>& answers) {
    return answers.size() < modes.size() ? measure(modes[answers.size()]) : hold(choice);
  };
}

// Of the readings from the one time to the other.
inline double mean_w(const Rig& rig, Duration from, Duration to) {
  double sum_mw = 0;
  int count = 0;
  for (const Reading& reading : rig.recorder.readings) {
    if (reading.taken < Time{} + from || reading.taken >= Time{} + to) continue;
    sum_mw += static_cast<double>(reading.value);
    ++count;
  }
  return sum_mw / count / 1000;
}

// Notes of power over the cap that have this text.
inline std::size_t reports(const Rig& rig, std::string_view text) {
  const auto notes = rig.recorder.of(NoteType::over_cap);
  return static_cast<std::size_t>(
      std::count_if(notes.begin(), notes.end(),
                    [&](const KeptNote& note) { return note.text.find(text) != note.text.npos; }));
}

}  // namespace gearshift::fakes
