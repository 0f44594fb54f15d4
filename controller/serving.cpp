#include "controller/serving.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "controller/limit_source.h"

namespace gearshift {
namespace {

// Requests that are served in batches less than half full, in batches, until the batch size is held
// to be too large to fill in time.
constexpr double kUnfilledBatches = 4;
constexpr std::int64_t kNearMw = 2000;

}  // namespace

void Serving::meet(const Workload* server, const Goal& goal) {
  arrivals_.forget();
  guard_.set_limit(server == nullptr ? std::nullopt : goal.latency);
  reports_ = server != nullptr && server->latency > Duration::zero();
  planned_per_s_ = goal.arrivals_per_s;
  one_by_one_ = goal.one_by_one;
  unserved_ = false;
  unserved_plan_mw_.reset();
}

bool Serving::add(const RequestReport& report) {
  reports_ = true;
  guard_.add(report);
  if (!arrivals_.add(report)) return false;
  double per_s = arrivals_.per_s();
  if (limit()) per_s = std::max(per_s, least_planned_per_s(*limit()));
  if (per_s == planned_per_s_ && one_by_one_) return false;
  planned_per_s_ = per_s;
  one_by_one_ = true;
  forget();
  unserved_ = false;
  return true;
}

void Serving::credit(const RequestReport& report, const Setting& setting, Use use) {
  if (use == Use::measured) unfilled_ += report.served;
  const std::uint32_t in_time = report.served - std::min(report.served, report.late);
  if (use == Use::held) late_credit_.answered(in_time);
  stall_credit(setting, use).answered(in_time, arrivals_.per_s());
}

void Serving::fill(const Minibatch& minibatch) {
  if (minibatch.kind == Kind::infer) unfilled_ -= minibatch.batch_size;
}

void Serving::hold(const Setting& setting, Time now) {
  late_credit_.hold(setting);
  guard_.rearm_at(now);
}

void Serving::forget() {
  late_credit_.forget();
  held_credit_.forget();
  other_credit_.forget();
  unserved_plan_mw_.reset();
}

bool Serving::awaits_requests(Time now) const {
  return reports_ && limit() && (arrivals_.silent(now) || planned_per_s_ <= 0);
}

std::int32_t Serving::batch_size(const Workload& server) const {
  const double most = planned_per_s_ * seconds(limit().value_or(Duration{})) / 4;
  std::int32_t batch_size = server.batch_sizes[0];
  for (const std::int32_t allowed : server.allowed()) {
    if (allowed <= most) batch_size = allowed;
  }
  return batch_size;
}

bool Serving::never_fills(std::int32_t batch_size) const {
  double filling = batch_size;
  // Twice what comes within the limit: a batch larger than that is never half full in time.
  if (limit() && planned_per_s_ > 0) {
    filling = std::min(filling, std::max(1.0, 2 * planned_per_s_ * seconds(*limit())));
  }
  return static_cast<double>(unfilled_) > kUnfilledBatches * filling;
}

bool Serving::late(Time now) {
  if (recovered(now)) late_since_.reset();
  return guard_.near();
}

bool Serving::answers_none_since(Time time) const {
  const RequestReport& report = newest();
  const std::uint32_t ended = report.served + report.refused;
  return report.received - report.span >= time && report.late > 0 && report.late >= ended;
}

std::string Serving::lateness() const {
  const RequestReport& report = newest();
  char text[96];
  std::snprintf(text, sizeof text, "p99 %.1f ms of %.1f ms, %u late among %u",
                1e3 * seconds(report.latency_p99), 1e3 * seconds(*limit()), report.late,
                report.served + report.refused);
  return text;
}

double Serving::pressing_per_s() const {
  return std::max(planned_per_s_, newest().arrived / std::max(1e-3, seconds(newest().span)));
}

double Serving::late_per_s() const {
  const double expected = planned_per_s_ * seconds(newest().span);
  const bool by_chance = newest().arrived <= expected + 3 * std::sqrt(expected);
  return by_chance ? planned_per_s_ : pressing_per_s();
}

bool Serving::bears_stall(const Setting& setting, Use use) {
  return stalled() && stall_credit(setting, use).pays(newest().late, arrivals_.per_s());
}

void Serving::begin_lateness(Time now) {
  if (!late_since_) late_since_ = now;
}

bool Serving::blames(const Setting& setting, Use use) {
  late_setting_ = setting;
  return use == Use::held && (stalled() || !late_credit_.pays(newest().late));
}

bool Serving::find_unserved() {
  const bool is_new = !unserved_;
  unserved_ = true;
  return is_new;
}

void Serving::nothing_serves_under(std::int64_t plan_mw) {
  unserved_plan_mw_ = std::max(plan_mw, unserved_plan_mw_.value_or(0));
  // Under the power that it gives way to, something does.
  unserved_ = false;
}

bool Serving::gives_way(std::int64_t plan_mw) const {
  return unserved_plan_mw_ && plan_mw <= *unserved_plan_mw_;
}

std::int64_t Serving::sought_mw(std::int64_t floor_mw) const {
  if (floor_mw - *unserved_plan_mw_ <= kNearMw) return floor_mw;
  return cap_step_down((floor_mw + *unserved_plan_mw_) / 2);
}

StallCredit& Serving::stall_credit(const Setting& setting, Use use) {
  StallCredit& credit = use == Use::held ? held_credit_ : other_credit_;
  credit.hold(setting);
  return credit;
}

}  // namespace gearshift
