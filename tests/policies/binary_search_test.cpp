#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "boards/cost_model.h"
#include "policies/lua/lua_policy.h"
#include "tests/policies/profile_problem.h"

namespace gearshift {
namespace {

const std::filesystem::path kSource = GEARSHIFT_SOURCE_DIR;

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

LuaPolicy binary_search() {
  return {"binary_search.lua", read_text(kSource / "scripts/binary_search.lua")};
}

using Profile = std::map<std::vector<std::int64_t>, ProfileCell>;

std::int64_t khz(const std::string& mhz) { return std::llround(std::stod(mhz) * 1000); }

// The 441 modes of AGX Orin that every published figure of this problem uses.
KnobSpace sub_grid() {
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

// Rows of a measured profile inside the sub-grid; empty where the file is absent.
Profile measured_profile(const std::string& workload) {
  std::ifstream file(kSource / "../shared/data" / ("agx_orin_" + workload + "_train.csv"));
  const KnobSpace space = sub_grid();
  Profile profile;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::stringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    PowerMode mode;
    mode.count = 4;
    mode.values = {std::stoll(cells[4]), khz(cells[5]), khz(cells[6]), khz(cells[7])};
    if (!space.contains(mode)) continue;
    profile[{mode.values.begin(), mode.values.begin() + 4}] = {std::stod(cells[9]),
                                                               std::stod(cells[11])};
  }
  return profile;
}

struct Figures {
  std::vector<double> excess_percent;
  std::vector<double> measurements;
};

Figures search_every_cap(const std::string& workload, const Profile& profile) {
  Figures figures;
  for (std::int64_t cap_mw = 15'000; cap_mw <= 50'000; cap_mw += 1'000) {
    double optimum = INFINITY;
    for (const auto& [mode, cell] : profile) {
      if (cell.power_w * 1e3 <= static_cast<double>(cap_mw)) {
        optimum = std::min(optimum, cell.minibatch_ms);
      }
    }
    PolicyProblem problem;
    problem.knobs = sub_grid();
    problem.modes.clear();
    problem.trainer.batch_size_count = 0;
    ProfileWorld world(problem, [&](const Setting& setting) {
      return profile.at({setting.mode.values.begin(), setting.mode.values.begin() + 4});
    });
    LuaPolicy policy = binary_search();
    const SearchOutcome outcome = world.run(policy, cap_mw);
    EXPECT_TRUE(outcome.held) << workload << " at " << cap_mw << " mW " << outcome.failure;
    if (!outcome.held) continue;
    const ProfileCell chosen = world.cell(outcome.setting);
    EXPECT_LE(chosen.power_w * 1e3, static_cast<double>(cap_mw)) << workload;
    figures.excess_percent.push_back(100 * (chosen.minibatch_ms / optimum - 1));
    figures.measurements.push_back(outcome.measurements);
  }
  return figures;
}

TEST(BinarySearch, ComesCloserToTheMeasuredOptimumThanThePublishedHeuristic) {
  const std::map<std::string, double> published_median{
      {"resnet", 8.9}, {"mobnet", 3.4}, {"lstm", 2.6}};
  std::vector<double> all;
  for (const auto& [workload, published] : published_median) {
    const Profile profile = measured_profile(workload);
    if (profile.empty()) GTEST_SKIP() << "no measured profiles in ../shared/data";
    ASSERT_EQ(profile.size(), 441u);
    const Figures figures = search_every_cap(workload, profile);
    const double most = *std::max_element(figures.measurements.begin(), figures.measurements.end());
    std::cout << workload << ": excess over the optimum, caps 15 to 50 W: median "
              << median(figures.excess_percent) << " % (published " << published << "), mean "
              << mean(figures.excess_percent) << " %; measurements: mean "
              << mean(figures.measurements) << ", most " << most << "\n";
    EXPECT_LE(median(figures.excess_percent), published) << workload;
    EXPECT_LE(most, 2 * std::log2(441)) << workload;
    all.insert(all.end(), figures.excess_percent.begin(), figures.excess_percent.end());
  }
  std::cout << "all: median " << median(all) << " %, mean " << mean(all)
            << " % (plain multi-dimensional binary search as published: 2.7 and 9.5)\n";
  EXPECT_LE(median(all), 2.7);
  EXPECT_LE(mean(all), 9.5);
}

// The board as its data file describes it, with a trainer that offers four batch sizes.
class ModelledBoard {
 public:
  explicit ModelledBoard(std::string_view workload) {
    for (const BoardDescription& board : built_in_boards()) {
      if (board.id == "jetson-agx-orin") board_ = &board;
    }
    space_ = board_->knob_space();
    workload_ = board_->workloads.at(std::string(workload));
  }

  ProfileCell cell(const PowerMode& mode, std::int32_t batch_size) const {
    const MinibatchCost cost =
        minibatch_cost(*board_->model, workload_.demand(batch_size), model_mode(space_, mode, {}));
    return {cost.minibatch_ms, cost.power_w};
  }
  ProfileWorld world() const {
    PolicyProblem problem;
    problem.knobs = space_;
    problem.modes.clear();
    return {problem, [this](const Setting& setting) {
              return cell(setting.mode, setting.batch_size[index(Kind::train)]);
            }};
  }
  // The least cost of a sample over every setting within the cap.
  double optimum(std::int64_t cap_mw, Objective objective) const {
    double least = INFINITY;
    for (const PowerMode& mode : modes_by_power(*board_, space_)) {
      for (const std::int32_t batch_size : {8, 16, 32, 64}) {
        const ProfileCell one = cell(mode, batch_size);
        if (one.power_w * 1e3 <= static_cast<double>(cap_mw)) {
          least = std::min(least, sample_cost(one, batch_size, objective));
        }
      }
    }
    return least;
  }
  static double sample_cost(const ProfileCell& cell, std::int32_t batch_size, Objective objective) {
    const double sample_ms = cell.minibatch_ms / batch_size;
    return objective == Objective::time ? sample_ms : sample_ms * cell.power_w;
  }

 private:
  const BoardDescription* board_ = nullptr;
  KnobSpace space_;
  WorkloadParameters workload_;
};

// Excess over the optimum of one search, in percent.
double excess_percent(const ModelledBoard& board, ProfileWorld& world, std::int64_t cap_mw,
                      Objective objective, int& measurements) {
  world.problem().goal.objective = objective;
  LuaPolicy policy = binary_search();
  const SearchOutcome outcome = world.run(policy, cap_mw);
  EXPECT_TRUE(outcome.held) << outcome.failure;
  measurements = outcome.measurements;
  const std::int32_t batch_size = outcome.setting.batch_size[index(Kind::train)];
  const double chosen =
      ModelledBoard::sample_cost(world.cell(outcome.setting), batch_size, objective);
  return 100 * (chosen / board.optimum(cap_mw, objective) - 1);
}

TEST(BinarySearch, FindsGoodSettingsAmongAllOfABoardAndItsBatchSizes) {
  const ModelledBoard board("resnet18");
  for (const Objective objective : {Objective::time, Objective::energy}) {
    for (const std::int64_t cap_mw : {30'000, 20'000}) {
      ProfileWorld world = board.world();
      int measurements = 0;
      const double excess = excess_percent(board, world, cap_mw, objective, measurements);
      std::cout << objective_name(objective) << " at " << cap_mw / 1000 << " W: " << excess
                << " % above the optimum after " << measurements << " measurements\n";
      EXPECT_LE(excess, 10);
      EXPECT_LE(measurements, 25);
    }
  }
}

TEST(BinarySearch, StartsFromWhatIsKnownWhenTheCapChanges) {
  const ModelledBoard board("resnet18");
  ProfileWorld world = board.world();
  int first = 0;
  int second = 0;
  excess_percent(board, world, 30'000, Objective::time, first);
  const double excess = excess_percent(board, world, 20'000, Objective::time, second);
  std::cout << "20 W after 30 W: " << excess << " % above the optimum after " << second
            << " more measurements\n";
  EXPECT_LE(excess, 10);
  EXPECT_LE(second, first);
}

}  // namespace
}  // namespace gearshift
