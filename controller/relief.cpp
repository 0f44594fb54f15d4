// The part of the loop that serves requests alone, as well as the cap allows, where nothing that
// the policy found serves them.
#include "controller/relief.h"

#include <algorithm>
#include <functional>

#include "controller/controller.h"

namespace gearshift {
namespace {

// What a step towards the latency limit must be able to serve, over the rate of arrivals: what has
// queued up in the meantime is served too.
constexpr double kHeadroom = 1.1;
// Of requests: where nothing serves them all, what serves so many is gone back to; and so much more
// of them is worth a change.
constexpr double kServesSome = 0.3, kMoreServed = 0.05;
// What serves so many is not left to look for more: each look makes others late.
constexpr double kServesWell = 0.98;
// Clocks rise to a mode within so small a part of the way of where it leads.
constexpr std::size_t kReach = 4;

}  // namespace

// To the best setting known to serve so many; else to what serves requests alone, if that is known;
// else training waits; else the clocks rise, or where they cannot, the batch is one that serves
// more.
void Controller::relieve(double arrivals_per_s, Time now) {
  serving_.rearm_at(now);
  Goal pressed = exact_goal();
  pressed.arrivals_per_s = kHeadroom * arrivals_per_s;
  const Observation* best = memory_.best_within(pressed, {wanted_, serving_.late_setting()});
  const double least_share = serving_.unserved() ? kServesSome : Relief::kServes;
  if (best != nullptr && !roster_.objection(best->setting)) {
    apply(best->setting, Aim::fallback, now);
  } else if (const Setting* alone = serves_less() ? relieving_setting(least_share) : nullptr) {
    apply(*alone, Aim::relief, now);
  } else if (trainer_runs()) {
    Setting setting = roster_.with_batches(wanted_);
    setting.run = Run::infer;
    std::int32_t& batch_size = setting.batch_size[index(Kind::infer)];
    // A smaller one serves fewer.
    batch_size = std::max(batch_size, serving_.batch_size(*roster_.managed(Kind::infer)));
    // From the lowest mode clocks rise again.
    if (known_over(setting)) setting.mode = board_.safe();
    apply(setting, Aim::relief, now);
  } else if (const Setting* good = relieving_setting(kServesWell)) {
    if (*good != wanted_) apply(*good, Aim::relief, now);
  } else if (const auto raised = raised_setting()) {
    apply(*raised, Aim::relief, now);
  } else {
    if (serving_.find_unserved()) {
      note(NoteType::late, now,
           "infeasible: no setting that may be tried serves this rate; the best for inference is "
           "held");
    }
    const Setting* most = relieving_setting(relief_.share() + kMoreServed);
    if (most != nullptr && *most != wanted_) apply(*most, Aim::relief, now);
  }
}

// The place of the wanted mode in the board's order of unmeasured power.
std::size_t Controller::place() const {
  const std::vector<PowerMode>& modes = board_.traits().modes;
  return static_cast<std::size_t>(std::find(modes.begin(), modes.end(), wanted_.mode) -
                                  modes.begin());
}

bool Controller::in_force_for_long(Time now) const {
  return settled_ && now - wanted_since_ >= kLagWindows * board_.traits().power_window;
}

// Once relief was over the cap it rises by steps that each have to show that they keep it.
bool Controller::proves_relief(Time now) const {
  return aim_ == Aim::relief && relief_.end() && wanted_.mode != board_.safe() &&
         !in_force_for_long(now);
}

// What has kept the cap for long may be gone back to.
void Controller::prove_relief(Time now) {
  if (!in_force_for_long(now) || relief_.update(wanted_)) return;
  if (aim_ == Aim::relief && guard_.recovered(now)) relief_.keeps(wanted_, place());
}

// The guard has cut what is wanted. True where that served requests alone in the stead of what the
// policy chose: it is not to be asked again for that.
bool Controller::cut_relief(std::int64_t power_mw, Time now) {
  const bool kept = relief_.forget(wanted_);
  // So soon it may be the power of the setting before.
  const bool shown = in_force_for_long(now) || power_mw > power_before_mw_;
  if (aim_ == Aim::relief && !kept && shown) relief_.exceeds(place());
  return kept || aim_ == Aim::relief;
}

// In the safe mode, or in one that was late when it was measured. What is held was in time before,
// and is again once training waits.
bool Controller::serves_less() const {
  if (aim_ == Aim::hold) return false;
  return aim_ == Aim::safe || wanted_.mode == board_.safe() || trainer_runs();
}

// What serves requests alone, more than this share of them, and is known to keep the cap; null
// where nothing is.
const Setting* Controller::relieving_setting(double share) const {
  const Setting* best = relief_.best(share);
  const bool may = best != nullptr && !roster_.objection(*best);
  return may && serving_.limit() ? best : nullptr;
}

// How much slower than the last of `modes` a minibatch is that shares its time evenly between all
// knobs, and follows each: a knob far down costs more than others further up make good.
double Controller::slowness(const PowerMode& mode) const {
  const PowerMode& highest = board_.traits().modes.back();
  double sum = 0;
  for (std::size_t knob = 0; knob < mode.count; ++knob) {
    sum += static_cast<double>(highest.values[knob]) / static_cast<double>(mode.values[knob]);
  }
  return sum;
}

// A mode about place `at`, between `from` and `end`, of which no knob is lower than of the one at
// `from`: a board's order goes by power, and what draws more with one knob far down may be slower.
// The least slow of those within `reach`, else the nearest. Null: there is none.
const PowerMode* Controller::raised_mode(std::size_t at, std::size_t reach, std::size_t from,
                                         std::size_t end) const {
  const std::vector<PowerMode>& modes = board_.traits().modes;
  const auto is_raised = [&](const PowerMode& mode) {
    return std::equal(mode.values.begin(), mode.values.begin() + mode.count,
                      modes[from].values.begin(), std::greater_equal<>());
  };
  const PowerMode* best = nullptr;
  const auto take = [&](std::size_t place) {
    const PowerMode& mode = modes[place];
    if (!is_raised(mode) || (best != nullptr && slowness(mode) >= slowness(*best))) return;
    best = &mode;
  };
  for (std::size_t far = 0; far < end - from && (far <= reach || best == nullptr); ++far) {
    if (at + far < end) take(at + far);
    if (far > 0 && at > from + far) take(at - far);
  }
  return best;
}

// Half of the way to the highest mode, or to where relief was over the cap, and back towards this
// one past those that are over it; without a cap all of the way. Where no other is left, this one
// with another batch.
std::optional<Setting> Controller::raised_setting() const {
  const std::vector<PowerMode>& modes = board_.traits().modes;
  const std::size_t end = std::min(modes.size(), relief_.end().value_or(modes.size()));
  const std::size_t from = place();
  Setting setting = wanted_;
  setting.batch_size[index(Kind::infer)] = serving_.batch_size(*roster_.managed(Kind::infer));
  const bool goes_up = from < end;
  const std::size_t place = goes_up ? from : 0;
  const auto may_try = [this](const Setting& raised) {
    return !known_over(raised) && !roster_.objection(raised);
  };
  for (std::size_t step = cap_mw_ ? (end - place) / 2 : end - place; step > 0; step /= 2) {
    const std::size_t at = std::min(place + step, modes.size() - 1);
    const PowerMode* raised = goes_up ? raised_mode(at, step / kReach, from, end) : nullptr;
    setting.mode = raised != nullptr ? *raised : modes[at];
    if (setting.mode != wanted_.mode && may_try(setting)) return setting;
  }
  setting.mode = wanted_.mode;
  const bool serves_more =
      setting.batch_size[index(Kind::infer)] > wanted_.batch_size[index(Kind::infer)];
  return serves_more && may_try(setting) ? std::optional(setting) : std::nullopt;
}

}  // namespace gearshift
