// A rig that trains beside a server, for tests of what the loop does about latency.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tests/fakes/rig.h"

namespace gearshift::fakes {

inline Request with_batch(Request request, std::int32_t infer_batch) {
  request.setting.batch_size[index(Kind::infer)] = infer_batch;
  return request;
}

// Measures each request's setting, then holds the first answer of least value that keeps the goal.
inline ListPolicy::Decide best_of(const std::vector<Request>& asked) {
  return [asked](const PolicyContext& context, const std::vector<Observation>& answers) {
    if (answers.size() < asked.size()) return asked[answers.size()];
    const Observation* best = nullptr;
    for (const Observation& answer : answers) {
      if (!answer.keeps(context.goal)) continue;
      if (best == nullptr || answer.value(context.goal) < best->value(context.goal)) best = &answer;
    }
    if (best == nullptr) return Request{Request::What::hold_safe, {}};
    return Request{Request::What::hold, best->setting};
  };
}

inline const std::vector<Request> kThree = {
    with_batch(measure(kSlow), 4), with_batch(measure(kMiddle), 4), with_batch(measure(kFast), 4)};

struct ServingRig : Rig {
  explicit ServingRig(ListPolicy::Decide decide, Duration end = std::chrono::seconds(120),
                      std::optional<std::int64_t> cap_mw = std::nullopt,
                      std::vector<PowerMode> modes = {kSlow, kMiddle, kFast})
      : Rig(std::move(decide), end, cap_mw, std::move(modes)) {
    options.goal.objective = Objective::throughput;
    options.meter.power_least = std::chrono::milliseconds(500);
    world.attach(std::chrono::milliseconds(0));
  }
  std::vector<Setting> settings_since(Duration time) const {
    std::vector<Setting> settings;
    for (const KeptNote& note : recorder.of(NoteType::setting)) {
      if (note.time >= Time{} + time) settings.push_back(note.setting);
    }
    return settings;
  }
};

}  // namespace gearshift::fakes
