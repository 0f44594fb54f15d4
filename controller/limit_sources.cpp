#include "controller/limit_sources.h"

#include <algorithm>
#include <utility>

namespace gearshift {
namespace {

constexpr std::string_view kLatencyFloor = "latency floor";

// The two lowest caps: what the others say is the second where the lowest is one's own.
class LowestTwo {
 public:
  void add(const LimitSource& source, std::optional<std::int64_t> cap_mw) {
    if (!cap_mw) return;
    if (!lowest_mw_ || *cap_mw < *lowest_mw_) {
      second_mw_ = std::exchange(lowest_mw_, cap_mw);
      lowest_ = &source;
    } else if (!second_mw_ || *cap_mw < *second_mw_) {
      second_mw_ = cap_mw;
    }
  }
  std::optional<std::int64_t> beside(const LimitSource& source) const {
    return &source == lowest_ ? second_mw_ : lowest_mw_;
  }

 private:
  std::optional<std::int64_t> lowest_mw_;
  std::optional<std::int64_t> second_mw_;
  const LimitSource* lowest_ = nullptr;
};

}  // namespace

void Cap::lower(const Cap& other) {
  if (!other.power_mw || (power_mw && *power_mw <= *other.power_mw)) return;
  *this = other;
}

LimitSources::LimitSources(std::span<LimitSource* const> sources)
    : sources_(sources.begin(), sources.end()), said_(sources.size()) {}

void LimitSources::consume(const Event& event) {
  for (LimitSource* const source : sources_) source->consume(event);
}

void LimitSources::read(const Reading& reading) {
  for (LimitSource* const source : sources_) source->read(reading);
}

void LimitSources::learn(const Observation& observation) {
  for (LimitSource* const source : sources_) source->learn(observation);
}

void LimitSources::ask(Time now) {
  ends_soon_ = {};
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    said_[i] = sources_[i]->limit(now);
    if (said_[i].ends_soon) ends_soon_ = sources_[i]->name();
  }
}

bool LimitSources::plans() const {
  return std::any_of(said_.begin(), said_.end(),
                     [](const Limit& said) { return said.planned_mw.has_value(); });
}

void LimitSources::combine(std::optional<std::int64_t> floor_mw, bool lowest_is_over,
                           Serving& serving) {
  Cap cap;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const Limit& said = said_[i];
    cap.lower({.power_mw = said.power_mw, .source = sources_[i]->name(), .moves = said.moves});
    if (!said.planned_mw) continue;
    sources_[i]->serve_above(floor_mw.value_or(0));
    if (floor_mw == 0) continue;
    cap.lower(plan(*sources_[i], said, floor_mw, lowest_is_over, serving));
  }
  cap_ = cap;
}

Cap LimitSources::plan(const LimitSource& source, const Limit& said,
                       std::optional<std::int64_t> floor_mw, bool lowest_is_over,
                       Serving& serving) const {
  Cap cap{.power_mw = said.planned_mw, .source = source.name(), .moves = said.moves};
  if (floor_mw && *said.planned_mw < *floor_mw) {
    // Nothing serves under a plan that the lowest mode is over.
    if (lowest_is_over && plan_mw()) serving.nothing_serves_under(*plan_mw());
    if (serving.gives_way(*said.planned_mw)) {
      cap.power_mw = serving.sought_mw(*floor_mw);
      cap.source = kLatencyFloor;
    }
  }
  cap.planned = !floor_mw || *cap.power_mw < *floor_mw;
  return cap;
}

void LimitSources::leave_none() { cap_.lower({.power_mw = kNoPowerMw, .source = ends_soon_}); }

void LimitSources::hear(bool work_is_saved) {
  LowestTwo lowest;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    lowest.add(*sources_[i], said_[i].least_mw());
  }
  for (LimitSource* const source : sources_) {
    source->hear({lowest.beside(*source), work_is_saved});
  }
}

}  // namespace gearshift
