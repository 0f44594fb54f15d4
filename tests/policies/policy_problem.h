// A small board, a trainer and answers, for tests of policies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/policy.h"

namespace gearshift {

// Everything a PolicyContext points to. Two cores counts, three GPU clocks; one trainer with four
// batch sizes.
struct PolicyProblem {
  KnobSpace knobs;
  std::vector<PowerMode> modes;
  Workload trainer;
  std::vector<Observation> observations;
  std::vector<const Profile*> prior;
  Goal goal{Objective::time, 30'000};
  std::uint64_t seed = 7;

  PolicyProblem() {
    knobs.knobs = {{"cpu_cores", Unit::count, KnobClass::hotplug, {4, 8}},
                   {"gpu_mhz", Unit::khz, KnobClass::clock, {306'000, 624'750, 1'300'500}}};
    for (const std::int64_t gpu : knobs.knobs[1].values) {
      for (const std::int64_t cores : knobs.knobs[0].values) {
        modes.push_back({{cores, gpu}, 2});
      }
    }
    trainer.name = BoundedText<64>("lenet");
    trainer.managed = true;
    trainer.batch_size = 16;
    trainer.batch_sizes = {8, 16, 32, 64};
    trainer.batch_size_count = 4;
    trainer.samples_per_epoch = 50'000;
  }

  PolicyContext context() const {
    PolicyContext context;
    context.goal = goal;
    context.knobs = &knobs;
    context.modes = modes;
    context.workloads[index(trainer.kind)] = &trainer;
    context.observations = observations;
    context.prior = prior;
    context.safe = knobs.lowest();
    context.seed = seed;
    return context;
  }
};

// A complete measurement of a setting that runs one kind.
inline Observation complete(const Setting& setting, double minibatch_ms, double power_w,
                            Kind kind = Kind::train) {
  Observation answer;
  answer.setting = setting;
  answer.power_mean_mw = static_cast<std::int64_t>(power_w * 1e3);
  answer.power_max_mw = answer.power_mean_mw + 500;
  answer.power_margin_mw = 100;
  answer.limit_mw = 30'000;
  Cost& cost = answer.cost[index(kind)];
  cost.minibatch_mean = Duration(static_cast<std::int64_t>(minibatch_ms * 1e6));
  cost.minibatch_stddev = Duration(1'000'000);
  cost.minibatch_p99 = cost.minibatch_mean + Duration(3'000'000);
  cost.minibatches = 20;
  answer.duration = Duration(2'500'000'000);
  answer.confidence = 0.02;
  return answer;
}

// The same setting, not measured to the end.
inline Observation cut_short(const Setting& setting, Outcome outcome) {
  Observation answer;
  answer.setting = setting;
  answer.outcome = outcome;
  return answer;
}

}  // namespace gearshift
