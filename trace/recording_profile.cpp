#include "trace/recording_profile.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

namespace gearshift {
namespace {

// The cells of one workload, the newest of each setting, in the order they were first measured.
struct Measured {
  std::string workload;
  Kind kind = Kind::train;
  std::vector<ProfileCell> cells;
};

Measured& measured_of(std::vector<Measured>& all, const std::string& workload, Kind kind) {
  for (Measured& one : all) {
    if (one.workload == workload && one.kind == kind) return one;
  }
  return all.emplace_back(Measured{workload, kind, {}});
}

void keep_newest(std::vector<ProfileCell>& cells, const ProfileCell& cell) {
  for (ProfileCell& known : cells) {
    if (known.mode != cell.mode || known.batch_size != cell.batch_size) continue;
    known = cell;
    return;
  }
  cells.push_back(cell);
}

Profile profile_of(const RecordingHeader& header, const Measured& measured) {
  KnobSpace space = header.knobs;
  for (std::size_t i = 0; i < space.size(); ++i) {
    std::set<std::int64_t> values;
    for (const ProfileCell& cell : measured.cells) values.insert(cell.mode.values[i]);
    space.knobs[i].values.assign(values.begin(), values.end());
  }
  Profile profile(std::move(space));
  profile.device = header.traits.name;
  profile.workload = measured.workload;
  profile.kind = measured.kind;
  for (const ProfileCell& cell : measured.cells) profile.add(cell);
  return profile;
}

}  // namespace

RecordedProfiles read_recorded_profiles(RecordingReader& reader) {
  RecordedProfiles result;
  std::vector<Measured> all;
  std::array<std::string, kKinds> names;
  RecordedTick tick;
  while (reader.next(tick)) {
    for (const Event& event : tick.events) {
      const Workload& workload = event.workload;
      if (event.type != EventType::attached || !workload.managed) continue;
      names[index(workload.kind)] = workload.name.view();
    }
    for (const RecordedNote& note : tick.notes) {
      if (!note.observation) continue;
      const Observation& seen = *note.observation;
      const bool trains = seen.cost[index(Kind::train)].minibatches > 0;
      const bool infers = seen.cost[index(Kind::infer)].minibatches > 0;
      if (!seen.ok() || (!trains && !infers)) {
        ++result.incomplete;
      } else if (trains && infers) {
        ++result.concurrent;
      } else {
        const Kind kind = trains ? Kind::train : Kind::infer;
        ProfileCell cell;
        cell.mode = seen.setting.mode;
        cell.batch_size = seen.setting.batch_size[index(kind)];
        cell.minibatch_ms = seconds(seen.cost[index(kind)].minibatch_mean) * 1e3;
        cell.power_w = static_cast<double>(seen.power_mean_mw) / 1e3;
        keep_newest(measured_of(all, names[index(kind)], kind).cells, cell);
      }
    }
  }
  for (const Measured& measured : all)
    result.profiles.push_back(profile_of(reader.header(), measured));
  return result;
}

}  // namespace gearshift
