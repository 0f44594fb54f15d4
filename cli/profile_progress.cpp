#include "cli/profile_progress.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "cli/json_recorder.h"
#include "cli/note_text.h"
#include "cli/profile_knobs.h"
#include "trace/profile_csv.h"

namespace gearshift {
namespace {

constexpr std::string_view kBesideAnother =
    "another workload ran beside it: the power is no one's own";
constexpr std::string_view kOnlyObserved =
    " (only observed: what is measured until it leaves is left out, as its power would be in it)";

// Names and reasons come from clients, and need not be UTF-8.
std::string json_line(const nlohmann::json& line) {
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A new measurement of a setting takes the place of the old one. The settings of a resumed profile
// may use values that the first one did not.
Profile with_cell(const Profile& profile, const KnobSpace& knobs, const ProfileCell& cell) {
  KnobSpace space = profile.cells().empty() ? knobs : profile.knobs();
  if (profile.cells().empty()) {
    for (Knob& knob : space.knobs) knob.values.clear();
  }
  for (std::size_t i = 0; i < space.size(); ++i) {
    auto& values = space.knobs[i].values;
    const auto at = std::lower_bound(values.begin(), values.end(), cell.mode.values[i]);
    if (at == values.end() || *at != cell.mode.values[i]) values.insert(at, cell.mode.values[i]);
  }
  Profile grown(std::move(space));
  grown.device = profile.device;
  grown.workload = profile.workload;
  grown.kind = profile.kind;
  const ProfileCell* const known = profile.find(cell.mode, cell.batch_size);
  bool kept = true;
  for (const ProfileCell& old : profile.cells())
    kept = grown.add(&old == known ? cell : old) && kept;
  if (known == nullptr) kept = grown.add(cell) && kept;
  if (!kept) {
    throw std::runtime_error(fmt::format("{} of {}: a row does not fit into the profile",
                                         profile.workload, profile.device));
  }
  return grown;
}

std::string time_text(double time_s) {
  if (time_s < 100) return fmt::format("{:.0f} s", time_s);
  if (time_s < 6000) return fmt::format("{:.0f} min", time_s / 60);
  return fmt::format("{:.1f} h", time_s / 3600);
}

bool partial(Outcome outcome) {
  return outcome == Outcome::goal_changed || outcome == Outcome::workload_changed ||
         outcome == Outcome::power_unknown;
}

}  // namespace

ProfileProgress::ProfileProgress(const SweepPolicy& policy, const KnobSpace& knobs,
                                 std::vector<Profile> known, ProfileProgressOptions options,
                                 Outlet& out)
    : policy_(policy),
      knobs_(knobs),
      profiles_(std::move(known)),
      options_(std::move(options)),
      out_(out) {}

void ProfileProgress::note(const Note& note) {
  if (note.type == NoteType::knob_failed) why_ = note.text;
  if (note.type == NoteType::setting) {
    why_.clear();
    check_fits();
  }
  if (note.type == NoteType::attached) unmanaged_.attach(note.workload, note.value != 0);
  if (note.type == NoteType::detached) unmanaged_.detach(note.workload, note.time);
  if (note.type == NoteType::observation) on_observation(note);
  tell(note);
}

void ProfileProgress::tell(const Note& note) const {
  if (note.type == NoteType::policy_log) {  // for whom it waits
    const nlohmann::json line = {{"note", note_name(note.type)}, {"text", note.text}};
    out_.tell((options_.json ? json_line(line) : std::string(note.text)) + '\n');
    return;
  }
  const bool tells = note.type == NoteType::attached || note.type == NoteType::detached ||
                     note.type == NoteType::power_unknown || note.type == NoteType::temperature ||
                     note.type == NoteType::outside_writer ||
                     note.type == NoteType::recording_ended;
  if (!tells || options_.json) return;
  const bool beside = note.type == NoteType::attached && note.value == 0;
  out_.tell(fmt::format("{}{}{}{}\n", note_name(note.type), note.text.empty() ? "" : ": ",
                        note.text, beside ? kOnlyObserved : ""));
}

Profile* ProfileProgress::known() {
  const auto found = std::find_if(profiles_.begin(), profiles_.end(), [&](const Profile& one) {
    return one.device == options_.device && one.workload == policy_.workload() &&
           one.kind == policy_.kind();
  });
  return found == profiles_.end() ? nullptr : &*found;
}

Profile ProfileProgress::nothing_yet(KnobSpace knobs) const {
  Profile profile(std::move(knobs));
  profile.device = options_.device;
  profile.workload = policy_.workload();
  profile.kind = policy_.kind();
  return profile;
}

// The policy has chosen its workload by its first setting, of which nothing is in force yet.
void ProfileProgress::check_fits() {
  if (fits_ || policy_.workload().empty()) return;
  fits_ = true;
  if (const auto why = unwritable(nothing_yet(knobs_))) throw std::runtime_error(*why);
  const Profile* profile = known();
  if (profile == nullptr || profile->cells().empty()) return;
  if (same_knobs(profile->knobs(), knobs_)) return;
  throw std::runtime_error(fmt::format(
      "{}: {} of {} has the knobs {} there, and {} can be set here: rows of both make no profile; "
      "name another file with -o",
      options_.file.string(), policy_.workload(), options_.device, knob_list(profile->knobs()),
      knob_list(knobs_)));
}

void ProfileProgress::on_observation(const Note& note) {
  const Observation& observation = *note.observation;
  if (partial(observation.outcome)) return;  // it is measured again
  spent_ += observation.duration;
  std::string why;
  if (!observation.ok()) {
    why = outcome_name(observation.outcome);
    if (!why_.empty()) why += ": " + why_;
  } else if (unmanaged_.beside(observation, note.time)) {
    why = kBesideAnother;
  } else {
    ++measured_;
    if (observation.power_is_estimate) ++estimated_;
    add(observation);
  }
  if (!why.empty()) left_out_.emplace_back(observation.setting, why);
  tell(observation, why);
}

void ProfileProgress::add(const Observation& observation) {
  const std::size_t kind = index(policy_.kind());
  ProfileCell cell;
  cell.mode = observation.setting.mode;
  cell.batch_size = observation.setting.batch_size[kind];
  cell.minibatch_ms = seconds(observation.cost[kind].minibatch_mean) * 1e3;
  cell.power_w = static_cast<double>(observation.power_mean_mw) / 1e3;
  Profile* profile = known();
  if (profile == nullptr) profile = &profiles_.emplace_back(nothing_yet(KnobSpace()));
  *profile = with_cell(*profile, knobs_, cell);
  write_profiles(options_.file, profiles_);
}

void ProfileProgress::tell(const Observation& observation, std::string_view left_out) {
  const std::size_t done = measured_ + left_out_.size();
  const std::size_t left = policy_.total() - std::min(done, policy_.total());
  const double left_s = seconds(spent_) / static_cast<double>(done) * static_cast<double>(left);
  if (options_.json) {
    nlohmann::json line = to_json(knobs_, observation, {});
    line["note"] = "measured";
    line["number"] = done;
    line["of"] = policy_.total();
    line["left_s"] = left_s;
    if (!left_out.empty()) line["left_out"] = left_out;
    out_.tell(json_line(line) + '\n');
  } else {
    const bool beside = observation.ok() && !left_out.empty();
    out_.tell(fmt::format("{} of {}: {}: {}{}{}; {} left\n", done, policy_.total(),
                          describe(knobs_, observation.setting), describe(observation, {}),
                          beside ? "; left out: " : "", beside ? left_out : std::string_view(),
                          time_text(left_s)));
  }
}

}  // namespace gearshift
