#include "policies/sweep_policy.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace gearshift {
namespace {

// The knobs from the outermost loop to the innermost.
std::vector<std::size_t> loops(const KnobSpace& space) {
  std::vector<std::size_t> knobs(space.size());
  std::iota(knobs.begin(), knobs.end(), std::size_t{0});
  std::stable_sort(knobs.begin(), knobs.end(), [&](std::size_t a, std::size_t b) {
    const Knob& first = space.knobs[a];
    const Knob& second = space.knobs[b];
    const bool is_clock = first.knob_class == KnobClass::clock;
    if (is_clock != (second.knob_class == KnobClass::clock)) return is_clock;
    return is_clock && first.values.size() < second.values.size();
  });
  return knobs;
}

void walk(const KnobSpace& space, SweepOrder order, std::span<const std::size_t> knobs,
          PowerMode& mode, std::vector<bool>& back, std::vector<PowerMode>& modes) {
  if (knobs.empty()) {
    modes.push_back(mode);
    return;
  }
  const std::size_t knob = knobs.front();
  std::vector<std::int64_t> values = space.knobs[knob].values;
  const bool is_clock = space.knobs[knob].knob_class == KnobClass::clock;
  const bool down = is_clock ? order == SweepOrder::descend : back[knob];
  if (down) std::reverse(values.begin(), values.end());
  if (!is_clock) back[knob] = !back[knob];
  for (const std::int64_t value : values) {
    mode.values[knob] = value;
    walk(space, order, knobs.subspan(1), mode, back, modes);
  }
}

}  // namespace

std::vector<PowerMode> sweep_modes(const KnobSpace& space, SweepOrder order) {
  std::vector<PowerMode> modes;
  PowerMode mode;
  mode.count = static_cast<std::uint8_t>(space.size());
  std::vector<bool> back(space.size(), false);
  walk(space, order, loops(space), mode, back, modes);
  return modes;
}

SweepPolicy::SweepPolicy(std::string device, std::vector<PowerMode> modes,
                         std::vector<std::int32_t> batch_sizes, std::vector<Profile> known)
    : device_(std::move(device)),
      modes_(std::move(modes)),
      batch_sizes_(std::move(batch_sizes)),
      known_(std::move(known)) {}

const Profile* SweepPolicy::known() const {
  for (const Profile& profile : known_) {
    const bool same =
        profile.device == device_ && profile.workload == workload_ && profile.kind == kind_;
    if (same) return &profile;
  }
  return nullptr;
}

// The workload says its name and its batch sizes when it attaches: only then is it known what is
// left.
void SweepPolicy::list_settings(const Workload& workload) {
  if (batch_sizes_.empty()) batch_sizes_.push_back(workload.batch_size);
  offered_.assign(workload.batch_sizes.begin(),
                  workload.batch_sizes.begin() + workload.batch_size_count);
  if (offered_.empty()) offered_.push_back(workload.batch_size);
  const auto offers = [&](std::int32_t batch_size) {
    return batch_size == workload.batch_size ||
           std::find(offered_.begin(), offered_.end(), batch_size) != offered_.end();
  };
  const auto rest = std::stable_partition(batch_sizes_.begin(), batch_sizes_.end(), offers);
  not_offered_.assign(rest, batch_sizes_.end());
  batch_sizes_.erase(rest, batch_sizes_.end());
  const Profile* profile = known();
  for (const std::int32_t batch_size : batch_sizes_) {
    for (const PowerMode& mode : modes_) {
      if (profile != nullptr && profile->find(mode, batch_size) != nullptr) {
        ++skipped_;
        continue;
      }
      Setting& setting = settings_.emplace_back();
      setting.mode = mode;
      setting.batch_size[index(kind_)] = batch_size;
      setting.run = kind_ == Kind::train ? Run::train : Run::infer;
    }
  }
}

Request SweepPolicy::ask() const {
  if (next_ == settings_.size()) return {};
  Request request;
  request.what = Request::What::measure;
  request.setting = settings_[next_];
  return request;
}

Request SweepPolicy::start(const PolicyContext& context) {
  if (!started_) {
    const Workload* trainer = context.workloads[index(Kind::train)];
    const Workload* workload = trainer != nullptr ? trainer : context.workloads[index(Kind::infer)];
    if (workload == nullptr) return {};
    workload_ = workload->name.view();
    kind_ = workload->kind;
    started_ = true;
    list_settings(*workload);
  }
  const Workload* own = context.workloads[index(kind_)];
  if (own == nullptr || own->name.view() != workload_) return wait(context);
  in_its_place_.clear();
  return ask();
}

// What another workload costs is no row of this one's.
Request SweepPolicy::wait(const PolicyContext& context) {
  const Workload* trainer = context.workloads[index(Kind::train)];
  const Workload* other = trainer != nullptr ? trainer : context.workloads[index(Kind::infer)];
  if (other == nullptr || done()) return {};
  const bool same_kind = other->kind == kind_;
  const auto named = [&](std::string_view name, Kind kind) {
    return std::string(name) + (same_kind ? "" : " (" + std::string(kind_name(kind)) + ")");
  };
  const std::string name = named(other->name.view(), other->kind);
  if (name != in_its_place_) {
    log_ = "waits for " + named(workload_, kind_) + "; " + name + " is another workload";
    in_its_place_ = name;
  }
  return {};
}

std::string SweepPolicy::take_log() { return std::exchange(log_, {}); }

Request SweepPolicy::resume(const Observation&) {
  if (next_ < settings_.size()) ++next_;
  return ask();
}

Request SweepPolicy::replace(std::string_view, const PolicyContext& context) {
  return start(context);
}

}  // namespace gearshift
