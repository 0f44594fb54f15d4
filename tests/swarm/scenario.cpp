#include "tests/swarm/scenario.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "policies/lua/lua_policy.h"
#include "tests/swarm/random_policy.h"

namespace gearshift::swarm {
namespace {

using std::chrono::milliseconds;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : bits_(seed) {}
  std::size_t below(std::size_t count) { return bits_() % count; }
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(bits_() >> 11) * 0x1p-53;
  }
  bool chance(double share) { return uniform(0, 1) < share; }
  Duration time(Duration most) {
    return milliseconds(below(static_cast<std::size_t>(most / milliseconds(1))));
  }

 private:
  std::mt19937_64 bits_;
};

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw PolicyError(path + ": cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

KnobSpace random_knobs(Dice& dice) {
  std::vector<Knob> all = {{"cpu_cores", Unit::count, KnobClass::hotplug, {}, true},
                           {"cpu_mhz", Unit::khz, KnobClass::clock, {}, true},
                           {"gpu_mhz", Unit::khz, KnobClass::clock, {}},
                           {"mem_mhz", Unit::khz, KnobClass::memory, {}}};
  KnobSpace space;
  for (Knob& knob : all) {
    const bool needed = space.size() == 0 && knob.name == "mem_mhz";
    if (!needed && dice.chance(0.2)) continue;
    const std::size_t count = 1 + dice.below(5);
    std::int64_t value = knob.unit == Unit::count ? 1 : 115'200;
    for (std::size_t i = 0; i < count; ++i) {
      knob.values.push_back(value);
      value +=
          static_cast<std::int64_t>(1 + dice.below(4)) * (knob.unit == Unit::count ? 1 : 153'600);
    }
    space.knobs.push_back(knob);
  }
  return space;
}

// Time and power as powers of the knobs, with a ripple and some holes.
std::unique_ptr<Profile> random_profile(Dice& dice, const KnobSpace& knobs, Kind kind) {
  auto profile = std::make_unique<Profile>(knobs);
  profile->device = "swarm";
  profile->workload = kind == Kind::train ? "learner" : "server";
  profile->kind = kind;
  std::vector<std::int32_t> batch_sizes = {16};
  if (dice.chance(0.5)) batch_sizes = {1, 4, 16, 64};
  const double base_ms = std::exp(dice.uniform(std::log(3), std::log(400)));
  const double idle_w = dice.uniform(4, 15);
  const double holes = dice.chance(0.3) ? 0.1 : 0;
  std::vector<double> slowdown;
  std::vector<double> watts;
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    slowdown.push_back(dice.uniform(0, 1));
    watts.push_back(dice.uniform(0, 14));
  }
  for (const PowerMode& mode : unmeasured_order(knobs)) {
    for (const std::int32_t batch_size : batch_sizes) {
      double ms = base_ms * std::pow(batch_size / 16.0, 0.8) * dice.uniform(0.97, 1.03);
      double power_w = idle_w;
      for (std::size_t i = 0; i < knobs.size(); ++i) {
        const double share =
            static_cast<double>(mode.values[i]) / static_cast<double>(knobs.knobs[i].values.back());
        ms *= std::pow(share, -slowdown[i]);
        power_w += watts[i] * std::pow(share, 1.4) * dice.uniform(0.97, 1.03);
      }
      const bool first = profile->cells().empty();
      if (!first && dice.chance(holes)) continue;
      profile->add({mode, batch_size, ms, power_w, {}});
    }
  }
  return profile;
}

Effects random_effects(Dice& dice) {
  Effects effects;
  const Effects all = parse_effects("all");
  const Effects slow = parse_effects("slow-lag");
  if (dice.chance(0.7)) {
    effects.jitter = all.jitter;
    effects.highest_jitter = all.highest_jitter;
  }
  if (dice.chance(0.3)) {
    effects.first_minibatch = all.first_minibatch;
    effects.first_minibatch_most = all.first_minibatch_most;
  }
  if (dice.chance(0.7)) {
    const Effects& from = dice.chance(0.3) ? slow : all;
    effects.lag = from.lag;
    effects.lag_constant = from.lag_constant;
  }
  if (dice.chance(0.7)) effects.sensor_noise = all.sensor_noise;
  if (dice.chance(0.5)) effects.unapplied_share = dice.chance(0.5) ? all.unapplied_share : 0.1;
  effects.hotplug = dice.chance(0.7);
  return effects;
}

// Faults and caps come by the eight minutes, so that a long trouble is as dense as a short one.
std::int64_t rounds_of(Duration trouble) { return std::max<std::int64_t>(1, trouble / kTrouble); }

FaultPlan random_faults(Dice& dice, const KnobSpace& knobs, Duration trouble) {
  FaultPlan plan;
  for (std::int64_t round = 0; round < rounds_of(trouble); ++round) {
    const Time start = Time{} + round * kTrouble;
    const std::size_t count = dice.chance(0.3) ? 0 : 1 + dice.below(4);
    for (std::size_t i = 0; i < count; ++i) {
      Fault fault;
      fault.kind = static_cast<FaultKind>(dice.below(9));
      fault.begin = start + dice.time(kTrouble / 2);
      fault.end = std::min(start + kTrouble,
                           fault.begin + milliseconds(100) + dice.time(std::chrono::minutes(1)));
      fault.knob = dice.below(knobs.size());
      const std::vector<std::int64_t>& values = knobs.knobs[fault.knob].values;
      fault.value = values[dice.below(values.size())];
      plan.push_back(fault);
    }
  }
  return plan;
}

std::vector<ScheduleStep> random_caps(Dice& dice, Duration trouble) {
  std::vector<ScheduleStep> steps;
  const auto cap = [&]() -> std::optional<std::int64_t> {
    if (dice.chance(0.1)) return std::nullopt;
    return std::llround(dice.uniform(8'000, 50'000));
  };
  steps.push_back({Duration{}, cap()});
  for (std::int64_t round = 0; round < rounds_of(trouble); ++round) {
    const std::size_t count = dice.chance(0.5) ? 0 : 1 + dice.below(5);
    for (std::size_t i = 0; i < count; ++i) {
      steps.push_back({round * kTrouble + dice.time(kTrouble), cap()});
    }
  }
  return steps;
}

std::unique_ptr<Policy> random_choice_of_policy(Dice& dice, const std::string& scripts,
                                                std::string& name) {
  static constexpr const char* kScripts[] = {
      "bayes.lua",    "binary_search.lua", "full_sweep.lua", "full_sweep_descend.lua",
      "governor.lua", "gradient.lua",      "linear.lua",     "linear_inverse.lua",
      "maxn.lua",     "ogd.lua",           "preset.lua",     "preset_measured.lua",
      "random.lua",   "roofline.lua",      "thompson.lua"};
  if (dice.chance(0.4)) {
    name = "random requests";
    return std::make_unique<RandomPolicy>();
  }
  name = kScripts[dice.below(std::size(kScripts))];
  return std::make_unique<LuaPolicy>(name, read_text(scripts + '/' + name));
}

}  // namespace

Scenario make_scenario(std::uint64_t seed, const std::string& scripts, Duration trouble) {
  Dice dice(seed);
  Scenario scenario;
  SimulationProblem& problem = scenario.problem;
  problem.board = "swarm";
  problem.seed = seed;
  problem.knobs = random_knobs(dice);
  problem.effects = random_effects(dice);
  problem.faults = random_faults(dice, problem.knobs, trouble);
  problem.least_duration = trouble;
  problem.most_duration = trouble + std::chrono::hours(6);
  problem.most_measurements = static_cast<std::uint32_t>(1 + dice.below(60));
  problem.goal.objective = dice.chance(0.5) ? Objective::time : Objective::energy;
  scenario.caps = random_caps(dice, trouble);
  scenario.policy = random_choice_of_policy(dice, scripts, scenario.policy_name);
  std::vector<Kind> kinds = {dice.chance(0.5) ? Kind::train : Kind::infer};
  if (dice.chance(0.3)) kinds = {Kind::train, Kind::infer};
  const Missing missing = dice.chance(0.5) ? Missing::refuse : Missing::nearest;
  for (const Kind kind : kinds) {
    const Profile& profile =
        *scenario.profiles.emplace_back(random_profile(dice, problem.knobs, kind));
    const CostSource& costs =
        *scenario.costs.emplace_back(std::make_unique<ProfileCosts>(profile, missing));
    // The holes may have left no cell of a batch of 16.
    const std::vector<std::int32_t> sizes = profile.batch_sizes();
    const bool has_16 = std::find(sizes.begin(), sizes.end(), 16) != sizes.end();
    problem.tasks.push_back({.name = profile.workload,
                             .kind = kind,
                             .batch_sizes = sizes,
                             .batch_size = has_16 ? 16 : sizes.front(),
                             .samples_per_epoch = 0,
                             .costs = &costs});
  }
  if (kinds.size() == 1 && kinds.front() == Kind::infer && dice.chance(0.7)) {
    problem.goal.objective = Objective::latency;
    problem.goal.arrivals_per_s = dice.uniform(5, 200);
    if (dice.chance(0.7)) problem.goal.latency = milliseconds(50 + dice.below(2000));
  }
  return scenario;
}

}  // namespace gearshift::swarm
