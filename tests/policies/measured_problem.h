// The published problems over measured profiles, for tests of whole searches; their data is absent
// from the project, and tests skip where it is absent from the disk.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/measured_data.h"
#include "tests/policies/profile_problem.h"

namespace gearshift {

// The cells of a measured file, with every value that occurs as the knobs.
class MeasuredTable {
 public:
  // `file` as in "agx_orin_resnet_train". `only_sub_grid` keeps the 441 modes of AGX Orin that
  // every published figure uses. Empty where the file is absent.
  MeasuredTable(const std::string& file, Kind kind, bool only_sub_grid = true) : kind_(kind) {
    std::ifstream csv(measured_folder() / (file + ".csv"));
    std::string line;
    std::getline(csv, line);
    std::array<std::set<std::int64_t>, 4> values;
    std::set<std::int32_t> batches;
    while (std::getline(csv, line)) {
      std::vector<std::string> fields;
      std::stringstream row(line);
      for (std::string field; std::getline(row, field, ',');) fields.push_back(field);
      Setting setting;
      setting.run = kind == Kind::train ? Run::train : Run::infer;
      setting.batch_size[index(kind)] = std::stoi(fields[3]);
      setting.mode.count = 4;
      setting.mode.values = {std::stoll(fields[4]), khz(fields[5]), khz(fields[6]), khz(fields[7])};
      if (only_sub_grid && !sub_grid().contains(setting.mode)) continue;
      for (std::size_t i = 0; i < 4; ++i) values[i].insert(setting.mode.values[i]);
      batches.insert(setting.batch_size[index(kind)]);
      cells_.push_back({setting, {std::stod(fields[9]), std::stod(fields[11])}});
      place_[key(setting)] = cells_.size() - 1;
    }
    knobs_ = sub_grid();
    for (std::size_t i = 0; i < 4; ++i) {
      knobs_.knobs[i].values.assign(values[i].begin(), values[i].end());
    }
    batches_.assign(batches.begin(), batches.end());
  }

  bool empty() const { return cells_.empty(); }
  std::size_t size() const { return cells_.size(); }
  const std::vector<std::pair<Setting, TrueCost>>& cells() const { return cells_; }

  // A problem with an empty memory. The table must outlive the world.
  ProfileWorld world(const Goal& goal) const {
    PolicyProblem problem;
    problem.knobs = knobs_;
    problem.modes.clear();
    problem.goal = goal;
    problem.trainer.kind = kind_;
    problem.trainer.batch_size = batches_.front();
    problem.trainer.batch_size_count = 0;
    if (batches_.size() > 1) {
      for (const std::int32_t batch : batches_) {
        problem.trainer.batch_sizes[problem.trainer.batch_size_count++] = batch;
      }
    }
    return {problem, [this](const Setting& setting) {
              const auto found = place_.find(key(setting));
              return found == place_.end() ? TrueCost{} : cells_[found->second].second;
            }};
  }

  // The least value of the objective over every cell that keeps the goal; infinity: unsolvable.
  double optimum(const Goal& goal) const {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [setting, cost] : cells_) {
      if (goal.power_mw && cost.power_w * 1e3 > static_cast<double>(*goal.power_mw)) continue;
      const double batch = setting.batch_size[index(kind_)];
      const double minibatch_s = cost.minibatch_ms / 1e3;
      double value = minibatch_s / batch;
      if (goal.objective == Objective::energy) value *= cost.power_w;
      if (goal.arrivals_per_s > 0) {
        const double wait_s = batch / goal.arrivals_per_s;
        if (minibatch_s > wait_s) continue;
        if (goal.latency && wait_s + minibatch_s > gearshift::seconds(*goal.latency)) continue;
        if (goal.objective == Objective::latency) value = wait_s + minibatch_s;
      }
      least = std::min(least, value);
    }
    return least;
  }

  static KnobSpace sub_grid() {
    KnobSpace space;
    space.knobs = {{"cpu_cores", Unit::count, KnobClass::hotplug, {4, 8, 12}},
                   {"cpu_mhz",
                    Unit::khz,
                    KnobClass::clock,
                    {422'400, 729'600, 1'036'800, 1'344'000, 1'651'200, 1'958'400, 2'201'600}},
                   {"gpu_mhz",
                    Unit::khz,
                    KnobClass::clock,
                    {114'750, 318'750, 522'750, 726'750, 930'750, 1'134'750, 1'300'500}},
                   {"mem_mhz", Unit::khz, KnobClass::memory, {665'600, 2'133'000, 3'199'000}}};
    return space;
  }

 private:
  static std::int64_t khz(const std::string& mhz) { return std::llround(std::stod(mhz) * 1000); }
  std::array<std::int64_t, 5> key(const Setting& setting) const {
    const auto& values = setting.mode.values;
    return {values[0], values[1], values[2], values[3], setting.batch_size[index(kind_)]};
  }

  Kind kind_;
  std::vector<std::pair<Setting, TrueCost>> cells_;
  std::map<std::array<std::int64_t, 5>, std::size_t> place_;
  KnobSpace knobs_;
  std::vector<std::int32_t> batches_;
};

// Caps 10 to 50 W, least time.
inline std::vector<Goal> train_goals() {
  std::vector<Goal> goals;
  for (std::int64_t cap_mw = 10'000; cap_mw <= 50'000; cap_mw += 1'000) {
    goals.push_back({Objective::time, cap_mw});
  }
  return goals;
}

// Least latency for caps 10 to 50 W, arrivals of 30 to 90 requests a second, and a range of
// latency.
inline std::vector<Goal> infer_goals(int low_ms, int high_ms, int step_ms) {
  std::vector<Goal> goals;
  for (const Goal& cap : train_goals()) {
    for (int latency_ms = low_ms; latency_ms <= high_ms; latency_ms += step_ms) {
      for (int rate = 30; rate <= 90; rate += 5) {
        goals.push_back({Objective::latency, cap.power_mw, Duration(latency_ms * 1'000'000LL),
                         static_cast<double>(rate)});
      }
    }
  }
  return goals;
}

// How a policy did on many goals.
struct Figures {
  int solvable = 0;
  int solved = 0;                         // of the solvable: holds a setting that keeps the goal
  int broken = 0;                         // holds a setting that does not keep it
  int failed = 0;                         // the script failed
  std::vector<double> excess_percent;     // of the solved
  std::vector<double> measurements;       // of the solvable
  std::vector<double> vain_measurements;  // of those without a solution
  double solved_percent() const { return 100.0 * solved / std::max(1, solvable); }
};

// Runs the policy with an empty memory on each goal, and judges its choice by the true cell.
template <typename MakePolicy>
Figures search_every_goal(const MeasuredTable& table, const std::vector<Goal>& goals,
                          MakePolicy make_policy) {
  Figures figures;
  for (const Goal& goal : goals) {
    const double optimum = table.optimum(goal);
    const bool solvable = std::isfinite(optimum);
    ProfileWorld world = table.world(goal);
    auto policy = make_policy();
    const SearchOutcome outcome = world.run(policy);
    figures.solvable += solvable;
    figures.failed += !outcome.failure.empty();
    (solvable ? figures.measurements : figures.vain_measurements).push_back(outcome.measurements);
    if (!outcome.held) continue;
    const Observation chosen = world.truth(outcome.setting);
    figures.broken += !chosen.keeps(goal);
    if (!solvable || !chosen.keeps(goal)) continue;
    ++figures.solved;
    figures.excess_percent.push_back(100 * (chosen.value(goal) / optimum - 1));
  }
  return figures;
}

}  // namespace gearshift
