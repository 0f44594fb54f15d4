#include "controller/board.h"

#include <algorithm>
#include <cassert>

namespace gearshift {
namespace {

// A board takes a moment to follow (a memory clock locks anew, a mask of cores is rewritten): a
// knob is written once more, and has so many more calls of advance() and so much time to read back
// what was written. Both, because urgent events bring calls within milliseconds of each other.
constexpr int kReadBacks = 3;
constexpr Duration kFollowsWithin = std::chrono::milliseconds(500);

}  // namespace

Board::Board(std::unique_ptr<Actuator> actuator, std::vector<std::unique_ptr<Sensor>> sensors,
             BoardTraits traits)
    : actuator_(std::move(actuator)), sensors_(std::move(sensors)), traits_(std::move(traits)) {
  safe_ = traits_.safe.value_or(actuator_->knobs().lowest());
}

void Board::read(Time now, std::vector<Reading>& readings) {
  for (const auto& sensor : sensors_) sensor->read(now, readings);
}

std::string Board::explain(const Reading& reading) const {
  for (const auto& sensor : sensors_) {
    std::string why = sensor->explain(reading);
    if (!why.empty()) return why;
  }
  return {};
}

void Board::begin(const PowerMode& mode, Time now, Route route) {
  assert(knobs().contains(mode));
  if (const auto write = outside_write()) overwritten_ = write;
  wanted_ = mode;
  next_ = first_leg(route);
  began_ = now;
  verify_attempts_ = 0;
  refused_ = false;
  moves_cores_ = false;
  suspected_.reset();
  write_goes_on_ = false;
  away_ = false;
  looked_at_ = now;
  failure_.clear();
  state_ = ApplyState::applying;
  moves_ = false;
  plan();
}

PowerMode Board::first_leg(Route route) {
  PowerMode leg = wanted_;
  if (route == Route::direct) return leg;
  bool cores_go = false;
  for (std::size_t i = 0; i < knobs().size(); ++i) {
    if (knobs().knobs[i].knob_class != KnobClass::hotplug) {
      leg.values[i] = std::min(leg.values[i], safe_.values[i]);
      continue;
    }
    const std::optional<std::int64_t> online = actuator_->read(i);
    cores_go = cores_go || (online && *online > wanted_.values[i]);
  }
  return cores_go ? leg : wanted_;
}

// Orders the knobs that do not read back the wanted value. A knob that cannot be read is written
// with the reducing ones: an unneeded early write costs nothing, a late reduction costs power.
void Board::plan() {
  struct Step {
    int rank;
    std::size_t knob;
  };
  std::array<Step, kMaxKnobs> steps{};
  left_ = 0;
  for (std::size_t i = 0; i < knobs().size(); ++i) {
    const std::optional<std::int64_t> actual = actuator_->read(i);
    seen_[i] = actual;
    if (actual == next_.values[i]) continue;
    const int knob_class = static_cast<int>(knobs().knobs[i].knob_class);
    const bool raises = actual && next_.values[i] > *actual;
    steps[left_++] = {raises ? 100 - knob_class : knob_class, i};
  }
  std::stable_sort(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(left_),
                   [](const Step& a, const Step& b) { return a.rank < b.rank; });
  for (std::size_t i = 0; i < left_; ++i) order_[i] = steps[i].knob;
  moves_ = moves_ || left_ > 0;
}

ApplyState Board::advance(Time now) {
  if (state_ != ApplyState::applying) return state_;
  moved_ = now;
  first_write_.reset();
  look_before_writes(now);
  while (left_ > 0) {
    const std::size_t knob = order_[0];
    moves_cores_ = moves_cores_ || knobs().knobs[knob].knob_class == KnobClass::hotplug;
    try {
      const Progress progress = actuator_->write(knob, next_.values[knob]);
      write_goes_on_ = progress == Progress::more;
      away_ = progress == Progress::away;
      if (away_) return state_;
      take_time_of_write();
      if (write_goes_on_) {
        if (now - began_ > traits_.apply_timeout) give_up(knob, now);
        return state_;
      }
      expected_[knob] = next_.values[knob];
      wrote_[knob] = next_.values[knob];
      foreign_[knob] = false;
    } catch (const KnobError& error) {
      take_time_of_write();
      if (!failure_.empty()) failure_ += "; ";
      failure_ += error.what();
      refused_ = foreign_[knob] = true;
      write_goes_on_ = false;
    }
    // A refused knob does not keep the others from being written: they may be the reducing ones.
    std::copy(order_.begin() + 1, order_.begin() + static_cast<std::ptrdiff_t>(left_),
              order_.begin());
    --left_;
    if (left_ > 0 || next_ == wanted_) continue;
    next_ = wanted_;
    plan();
  }
  state_ = refused_ ? ApplyState::refused : state_;
  const ApplyState verified = verify(now);
  if (state_ == ApplyState::applying) state_ = verified;
  return state_;
}

void Board::take_time_of_write() {
  const std::optional<Time> wrote = actuator_->wrote();
  if (!wrote) return;
  if (!first_write_) first_write_ = wrote;
  moved_ = *first_write_ + (*wrote - *first_write_) / 2;
}

// Cores take several writes, and bring clocks of their own: nobody can tell whose those are. What
// we wrote is ours, however late a clock follows it.
bool Board::is_foreign(std::size_t knob, std::optional<std::int64_t> actual) const {
  if (moves_cores_ && knobs().knobs[knob].follows_cores) return false;
  if (foreign_[knob]) return false;
  return actual && seen_[knob] && *actual != *seen_[knob] && actual != wrote_[knob];
}

// What is still to be written, once time has passed since that was planned. A knob that has come to
// follow its first write by itself needs no second one, and was in nobody else's hands.
void Board::look_before_writes(Time now) {
  if (now == std::exchange(looked_at_, now)) return;
  std::size_t kept = write_goes_on_ ? 1 : 0;
  for (std::size_t i = kept; i < left_; ++i) {
    const std::size_t knob = order_[i];
    const std::optional<std::int64_t> actual = actuator_->read(knob);
    if (is_foreign(knob, actual)) overwritten_ = OutsideWrite{knob, *seen_[knob], *actual};
    seen_[knob] = actual;
    if (verify_attempts_ == 0 || actual != wanted_.values[knob]) {
      order_[kept++] = knob;
    } else if (suspected_ && suspected_->knob == knob) {
      suspected_.reset();
    }
  }
  left_ = kept;
}

void Board::give_up(std::size_t knob, Time now) {
  if (!refused_) {
    const auto most = std::chrono::duration_cast<std::chrono::milliseconds>(traits_.apply_timeout);
    failure_ =
        knobs().knobs[knob].name + ": not applied within " + std::to_string(most.count()) + " ms";
  }
  state_ = refused_ ? ApplyState::refused : ApplyState::timed_out;
  left_ = 0;
  verify(now);  // what was written until now is ours, not an outside writer's
}

// Reads every knob back. Cores that came online bring clocks of their own, so a mismatch is planned
// and written once more before it counts.
ApplyState Board::verify(Time now) {
  ApplyState result = ApplyState::applied;
  for (std::size_t i = 0; i < knobs().size(); ++i) {
    expected_[i] = actuator_->read(i);
    if (expected_[i] == wanted_.values[i]) {
      foreign_[i] = false;
      continue;
    }
    if (verify_attempts_ == 0 && is_foreign(i, expected_[i])) {
      suspected_ = OutsideWrite{i, wanted_.values[i], *expected_[i]};
    }
    const Knob& knob = knobs().knobs[i];
    if (result == ApplyState::applied && failure_.empty()) {
      failure_ = knob.name + ": wrote " + describe_value(knob.unit, wanted_.values[i]) +
                 ", still " +
                 (expected_[i] ? describe_value(knob.unit, *expected_[i]) : "unreadable");
    }
    result = ApplyState::not_applied;
  }
  // It does take what is wanted: somebody else wrote what it was the first time.
  if (result == ApplyState::applied && suspected_) {
    overwritten_ = std::exchange(suspected_, std::nullopt);
  }
  if (result == ApplyState::applied || state_ != ApplyState::applying) return result;
  if (verify_attempts_++ == 0) mismatch_since_ = now;
  if (verify_attempts_ > kReadBacks && now - mismatch_since_ >= kFollowsWithin) return result;
  failure_.clear();
  if (verify_attempts_ == 1) plan();
  return ApplyState::applying;
}

std::optional<OutsideWrite> Board::outside_write() {
  if (state_ == ApplyState::idle) return std::nullopt;
  if (state_ == ApplyState::applying && !away_) return std::nullopt;
  for (std::size_t i = 0; i < knobs().size(); ++i) {
    const std::optional<std::int64_t> actual = actuator_->read(i);
    if (!actual || actual == expected_[i] || (away_ && !expected_[i])) continue;
    // A clock that was held back has come to follow, or one that we could not set moves by itself.
    if (*actual == wanted_.values[i] || foreign_[i]) {
      expected_[i] = actual;
      continue;
    }
    // What could not be read when the change ended, and can be now, is not what was wanted.
    return OutsideWrite{i, expected_[i].value_or(wanted_.values[i]), *actual};
  }
  return std::nullopt;
}

bool Board::unreadable() {
  if (state_ == ApplyState::idle || state_ == ApplyState::applying) return away_;
  for (std::size_t i = 0; i < knobs().size(); ++i) {
    if (expected_[i] && !actuator_->read(i)) return true;
  }
  return false;
}

std::string Board::describe(const OutsideWrite& write) const {
  const Knob& knob = knobs().knobs[write.knob];
  if (knob.unit == Unit::khz && write.theirs < write.ours) {
    return knob.name + ": reads " + describe_value(knob.unit, write.theirs) + ", below the " +
           describe_value(knob.unit, write.ours) +
           " we had set: the board throttles, or another program wrote it; set again";
  }
  return knob.name + ": another program wrote " + describe_value(knob.unit, write.theirs) +
         ", we had set " + describe_value(knob.unit, write.ours) + "; set again";
}

}  // namespace gearshift
