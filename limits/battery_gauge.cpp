#include "limits/battery_gauge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace gearshift {
namespace {

// A gauge that counts in percent steps by so much at once, and by as much again where it rounds.
constexpr double kGaugeStep = 0.02;
// Gauges calibrate themselves: a full battery may read more than its capacity.
constexpr double kMostOfCapacity = 1.2;
// So many times longer than bad news must good news agree with itself before it is believed.
constexpr int kGoodNewsPatience = 10;
// Ticks so far apart are a gap, and so long after it an answer is awaited.
constexpr Duration kGaugeGap = std::chrono::seconds(2);
constexpr Duration kAnswerPatience = std::chrono::seconds(10);

}  // namespace

void BatteryGauge::read(const Reading& reading) {
  if (reading.quantity == Quantity::battery_energy) {
    judge_energy(reading);
    return;
  }
  if (reading.quantity == Quantity::battery_capacity) {
    judge_capacity(reading);
    return;
  }
  const bool absurd = reading.quantity == Quantity::battery_voltage && reading.value <= 0;
  if (!absurd) believed_.add(reading);
}

// The reserve is a share of it: one that grows is bad news, one that shrinks good.
void BatteryGauge::judge_capacity(const Reading& reading) {
  if (reading.state != ReadingState::ok || reading.value <= 0) return;
  Battery next = believed_;
  next.add(reading);
  const double told_wh = *next.capacity_wh;
  if (known() && *believed_.energy_wh > kMostOfCapacity * told_wh) return;
  const bool first = !known() || !believed_.capacity_wh;
  const double held_wh = believed_.capacity_wh.value_or(told_wh);
  const bool grows = told_wh > held_wh;
  if (first || (told_wh >= held_wh && told_wh <= (1 + kGaugeStep) * held_wh)) {
    believed_ = next;
    doubted_capacity_.reset();
    return;
  }
  auto& doubted = doubted_capacity_;
  const bool goes_on = doubted && grows == (doubted->wh > held_wh) &&
                       reading.taken - doubted->newest <= stale_after_;
  if (!goes_on) doubted = {told_wh, reading.taken, reading.taken};
  doubted->wh = grows ? std::min(doubted->wh, told_wh) : std::max(doubted->wh, told_wh);
  doubted->newest = reading.taken;
  const int patience = grows ? 1 : kGoodNewsPatience;
  if (reading.taken - doubted->since < patience * stale_after_) return;
  believed_.capacity_wh = doubted->wh;
  doubted.reset();
}

void BatteryGauge::look(Time now) {
  if (looked_ && now - *looked_ >= kGaugeGap && !late(*looked_)) awaited_since_ = now;
  looked_ = now;
}

bool BatteryGauge::awaited(Time now) const {
  return known() && late(now) && awaited_since_ && now - *awaited_since_ < kAnswerPatience;
}

void BatteryGauge::judge_energy(const Reading& reading) {
  if (reading.state != ReadingState::ok || reading.value < 0) return;
  Battery next = believed_;
  next.add(reading);
  const double energy_wh = *next.energy_wh;
  if (believed_.capacity_wh && energy_wh > kMostOfCapacity * *believed_.capacity_wh) return;
  if (believed_.known() && !possible(energy_wh, reading.taken, believed_)) {
    if (reading.value == 0) return;  // no battery is empty at once, a dead gauge is
    // Bad news that gets worse agrees with itself however fast it does: what was believed, and how
    // fast it can change, is what it tells against.
    const bool worse =
        doubted_ && energy_wh < *doubted_->energy_wh && *doubted_->energy_wh < *believed_.energy_wh;
    const bool agrees = worse || (doubted_ && possible(energy_wh, reading.taken, *doubted_));
    if (!agrees) doubted_since_ = reading.taken;
    doubted_ = next;
    const int patience = energy_wh < *believed_.energy_wh ? 1 : kGoodNewsPatience;
    if (reading.taken - doubted_since_ < patience * stale_after_) return;
  }
  doubted_.reset();
  believed_ = next;
  most_seen_wh_ = std::max(most_seen_wh_, energy_wh);
}

bool BatteryGauge::possible(double energy_wh, Time taken, const Battery& since) const {
  const double span_h = std::max(0.0, seconds(taken - since.taken)) / kJoulesInWh;
  const double step_wh = kGaugeStep * since.capacity_wh.value_or(most_seen_wh_);
  return std::abs(energy_wh - *since.energy_wh) <= most_w_ * span_h + step_wh;
}

std::optional<double> BatteryGauge::voltage_v(Time now) const {
  return now - believed_.voltage_taken > kTerminalsStaleAfter ? std::nullopt : believed_.voltage_v;
}

double BatteryGauge::energy_wh(Time now) const {
  if (!known()) return 0;
  if (!late(now)) return *believed_.energy_wh;
  const double since_h = seconds(now - believed_.taken) / kJoulesInWh;
  return std::max(0.0, *believed_.energy_wh - most_w_ * since_h);
}

std::string BatteryGauge::complaint() const {
  if (!known()) return "the battery's energy was never read";
  if (!looked_ || !late()) return {};
  char text[96];
  std::snprintf(text, sizeof text, "the gauge was last read %.0f s ago: %.2f Wh are surely left",
                seconds(*looked_ - believed_.taken), energy_wh(*looked_));
  return text;
}

double BatteryGauge::capacity_wh(double given) const {
  if (believed_.capacity_wh) return *believed_.capacity_wh;
  return given > 0 ? given : most_seen_wh_;
}

}  // namespace gearshift
