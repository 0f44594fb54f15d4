#include "trace/recording_profile.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "controller/roster.h"
#include "trace/unmanaged_workloads.h"

namespace gearshift {
namespace {

// The cells of one workload, the newest of each setting, in the order they were first measured.
struct Measured {
  std::string workload;
  Kind kind = Kind::train;
  std::vector<ProfileCell> cells;
  std::vector<bool> estimated;  // the power of each cell
};

Measured& measured_of(std::vector<Measured>& all, const std::string& workload, Kind kind) {
  for (Measured& one : all) {
    if (one.workload == workload && one.kind == kind) return one;
  }
  return all.emplace_back(Measured{workload, kind, {}, {}});
}

void keep_newest(Measured& measured, const ProfileCell& cell, bool estimated) {
  for (std::size_t i = 0; i < measured.cells.size(); ++i) {
    const ProfileCell& known = measured.cells[i];
    if (known.mode != cell.mode || known.batch_size != cell.batch_size) continue;
    measured.cells[i] = cell;
    measured.estimated[i] = estimated;
    return;
  }
  measured.cells.push_back(cell);
  measured.estimated.push_back(estimated);
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

// What a recording says of its workloads and settings, note by note.
class ProfileNotes {
 public:
  void consume(const Event& event, Time now) {
    const Workload& workload = event.workload;
    if (event.type == EventType::attached) {
      unmanaged_.attach(workload.handle, workload.managed);
      if (!workload.managed) return;
      roster_.attach(workload);
      names_[index(workload.kind)] = workload.name.view();
    }
    if (event.type == EventType::requests) reporting_ = event.requests.workload;
    if (event.type != EventType::detached) return;
    unmanaged_.detach(event.handle, now);
    roster_.detach(event.handle);
  }

  void consume(const RecordedNote& note) {
    if (note.type == NoteType::drift) forget();
    if (note.observation) add(*note.observation, note.time);
  }

  RecordedProfiles take(const RecordingHeader& header) {
    for (const Measured& measured : all_) {
      if (measured.cells.empty()) continue;
      result_.profiles.push_back(profile_of(header, measured));
      result_.estimated += static_cast<std::size_t>(
          std::count(measured.estimated.begin(), measured.estimated.end(), true));
    }
    return std::move(result_);
  }

 private:
  // The world of those that are managed has changed: of others that were measured it says nothing.
  void forget() {
    for (const Workload* workload : roster_.managed()) {
      if (workload == nullptr) continue;
      Measured& measured = measured_of(all_, std::string(workload->name.view()), workload->kind);
      result_.before_drift += measured.cells.size();
      measured.cells.clear();
      measured.estimated.clear();
    }
  }

  void add(const Observation& seen, Time ended) {
    const bool trains = seen.cost[index(Kind::train)].minibatches > 0;
    const bool infers = seen.cost[index(Kind::infer)].minibatches > 0;
    if (!seen.ok() || (!trains && !infers)) {
      ++result_.incomplete;
      return;
    }
    if ((trains && infers) || unmanaged_.beside(seen, ended)) {
      ++result_.concurrent;
      return;
    }
    if (infers && reports_requests()) {
      ++result_.pausing;
      return;
    }
    const Kind kind = trains ? Kind::train : Kind::infer;
    ProfileCell cell;
    cell.mode = seen.setting.mode;
    cell.batch_size = seen.setting.batch_size[index(kind)];
    cell.minibatch_ms = seconds(seen.cost[index(kind)].minibatch_mean) * 1e3;
    cell.power_w = static_cast<double>(seen.power_mean_mw) / 1e3;
    keep_newest(measured_of(all_, names_[index(kind)], kind), cell, seen.power_is_estimate);
  }

  // Its requests come one by one, and between its batches the board draws less.
  bool reports_requests() const {
    const Workload* server = roster_.managed(Kind::infer);
    return server != nullptr && server->handle == reporting_;
  }

  RecordedProfiles result_;
  std::vector<Measured> all_;
  std::array<std::string, kKinds> names_;
  Roster roster_;
  UnmanagedWorkloads unmanaged_;
  std::optional<WorkloadHandle> reporting_;  // who reported requests last
};

}  // namespace

RecordedProfiles read_recorded_profiles(RecordingReader& reader) {
  ProfileNotes notes;
  RecordedTick tick;
  while (reader.next(tick)) {
    for (const Event& event : tick.events) notes.consume(event, tick.now);
    for (const RecordedNote& note : tick.notes) notes.consume(note);
  }
  return notes.take(reader.header());
}

std::string why_no_profile(const RecordedProfiles& recorded) {
  std::string why;
  const auto add = [&](std::size_t count, const char* what) {
    if (count == 0) return;
    why += (why.empty() ? "" : "; ") + std::to_string(count) + what;
  };
  add(recorded.before_drift,
      " settings were measured before the workload or the board changed, and none alone and to "
      "its end since");
  add(recorded.concurrent,
      " measurements were of two workloads at once, and their power is no one's own: measure each "
      "alone with gearshift profile");
  add(recorded.pausing,
      " measurements were of a server whose requests come one by one, and their power has the "
      "pauses between its batches in it: measure it while its batches follow one another");
  if (why.empty()) why = "no setting was measured to its end";
  add(recorded.incomplete, " measurements were cut short or failed");
  return why;
}

std::vector<std::string> left_out_lines(const RecordedProfiles& recorded) {
  std::vector<std::string> lines;
  const auto add = [&](std::size_t count, const char* what) {
    if (count == 0) return;
    lines.push_back("left out: " + std::to_string(count) + " measurements " + what);
  };
  add(recorded.incomplete, "that were cut short or failed");
  add(recorded.concurrent, "of two workloads at once: their power is no one's own");
  add(recorded.pausing,
      "of a server whose requests come one by one: their power has the pauses between its batches "
      "in it");
  add(recorded.before_drift,
      "from before the workload or the board changed, as the run found by itself");
  if (recorded.estimated == 0) return lines;
  std::size_t settings = 0;
  for (const Profile& profile : recorded.profiles) settings += profile.cells().size();
  lines.push_back("the power of " + std::to_string(recorded.estimated) + " of " +
                  std::to_string(settings) +
                  " settings is an estimate, wholly or in part, and not measured");
  return lines;
}

}  // namespace gearshift
