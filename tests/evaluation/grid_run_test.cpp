#include "evaluation/grid_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

#include "tests/evaluation/fake_grid.h"

namespace gearshift {
namespace {

struct RecordingWatch : CaseWatch {
  std::size_t done = 0;
  std::size_t known = 0;
  bool stop = false;

  void progress(std::size_t now, std::size_t before, std::size_t) override {
    done = now;
    known = before;
  }
  bool stopped() override { return stop; }
};

struct GridRun : testing::Test {
  Profile profile = small_profile();
  Grid grid = small_grid(profile);
  RecordingWatch watch;
  std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) /
      (std::string("grid_run_") + testing::UnitTest::GetInstance()->current_test_info()->name() +
       ".jsonl");

  GridRun() { std::filesystem::remove(path); }
  ~GridRun() override { std::filesystem::remove(path); }
};

std::string text_of(const std::vector<std::optional<Trial>>& trials) {
  std::string text;
  for (const auto& trial : trials) text += (trial ? format_trial(0, *trial) : "left out") + "\n";
  return text;
}

TEST_F(GridRun, GivesTheSameTrialsInTheSameOrderOnAnyNumberOfThreads) {
  const std::string alone = text_of(run_grid(grid, any_cell(grid), nullptr, watch, 1));
  EXPECT_EQ(watch.done, grid.size());
  for (const unsigned threads : {2u, 3u, 8u}) {
    EXPECT_EQ(text_of(run_grid(grid, any_cell(grid), nullptr, watch, threads)), alone);
  }
  EXPECT_EQ(alone.find("left out"), std::string::npos);
}

TEST(TrialFile, TakesNoDevice) { EXPECT_THROW(TrialFile("/dev/null"), std::runtime_error); }

TEST_F(GridRun, NumbersCasesWithSeedsFirst) {
  std::set<std::size_t> seen;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const Case one = grid.at(i);
    seen.insert(((one.policy * 1 + one.workload) * grid.problems.size() + one.problem) * 2 +
                one.seed);
  }
  EXPECT_EQ(seen.size(), grid.size());
  EXPECT_EQ(grid.at(1).seed, 1u);
  EXPECT_EQ(grid.at(2).problem, 1u);
}

TEST_F(GridRun, GoesOnWhereItWasStopped) {
  std::atomic<int> runs = 0;
  const RunCase inner = any_cell(grid);
  const RunCase counted = [&](const Case& one) {
    if (++runs == 10) watch.stop = true;
    return inner(one);
  };
  {
    TrialFile file(path);
    const auto first = run_grid(grid, counted, &file, watch, 1);
    EXPECT_LE(runs, static_cast<int>(grid.size()));
  }
  watch.stop = false;
  const int before = runs;
  TrialFile file(path);
  const auto second = run_grid(grid, counted, &file, watch, 2);
  EXPECT_EQ(watch.known, static_cast<std::size_t>(before));
  EXPECT_EQ(static_cast<std::size_t>(runs), grid.size());
  EXPECT_EQ(text_of(second), text_of(run_grid(grid, inner, nullptr, watch, 1)));
}

TEST_F(GridRun, RunsAgainWhatAChangedInputDecides) {
  std::atomic<int> runs = 0;
  const RunCase counted = [&](const Case&) {
    ++runs;
    return Trial();
  };
  const auto runs_of = [&](const Grid& changed) {
    runs = 0;
    TrialFile file(path);
    run_grid(changed, counted, &file, watch, 2);
    return static_cast<std::size_t>(runs);
  };
  EXPECT_EQ(runs_of(grid), grid.size());
  EXPECT_EQ(runs_of(grid), 0u);
  Grid edited = grid;
  edited.policies[0].text += "\n";
  EXPECT_EQ(runs_of(edited), grid.size() / 2);
  Grid conditions = grid;
  conditions.conditions = "jitter";
  EXPECT_EQ(runs_of(conditions), grid.size());
  Profile corrected(profile.knobs());
  for (ProfileCell cell : profile.cells()) {
    cell.power_w += 0.001;
    corrected.add(cell);
  }
  EXPECT_EQ(runs_of(small_grid(corrected)), grid.size());
  Grid longer = grid;
  longer.seeds.push_back(3);
  EXPECT_EQ(runs_of(longer), grid.size() / 2);
}

// Two pairs may serve the same workload, and differ in what trains.
TEST_F(GridRun, TellsWorkloadsApartByWhatRunsBesideThem) {
  grid.workloads[0].beside = 1;
  grid.workloads.push_back({.name = "another pair", .optimum = OptimumTable(profile), .beside = 2});
  const RunCase of_pair = [](const Case& one) {
    Trial trial;
    trial.modes_profiled = static_cast<std::uint32_t>(one.workload + 1);
    return trial;
  };
  const std::string fresh = text_of(run_grid(grid, of_pair, nullptr, watch, 1));
  for (int time = 0; time < 2; ++time) {
    TrialFile file(path);
    EXPECT_EQ(text_of(run_grid(grid, of_pair, &file, watch, 2)), fresh) << time;
  }
}

TEST_F(GridRun, HandsOnWhatACaseThrows) {
  const RunCase failing = [](const Case& one) -> Trial {
    if (one.problem == 5) throw std::runtime_error("no such cell");
    return {};
  };
  EXPECT_THROW(run_grid(grid, failing, nullptr, watch, 2), std::runtime_error);
}

TEST_F(GridRun, LeavesOutALineThatAKillCutOff) {
  const RunCase run_case = any_cell(grid);
  {
    TrialFile file(path);
    run_grid(grid, run_case, &file, watch, 1);
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 20);
  {
    TrialFile file(path);
    EXPECT_EQ(file.unreadable(), 1u);
    run_grid(grid, run_case, &file, watch, 1);
    EXPECT_EQ(watch.known, grid.size() - 1);
  }
  TrialFile file(path);
  run_grid(grid, run_case, &file, watch, 1);
  EXPECT_EQ(watch.known, grid.size());
}

TEST_F(GridRun, RefusesAFileOfSomethingElseAndOneInUse) {
  std::ofstream(path) << "policy,workload\nmaxn,lenet\n";
  EXPECT_THROW(TrialFile{path}, std::runtime_error);
  std::filesystem::remove(path);
  const TrialFile held(path);
  EXPECT_THROW(TrialFile{path}, std::runtime_error);
}

TEST(TrialLine, ReadsBackWhatWasWritten) {
  Trial trial;
  trial.held.mode = {{4, 306'000}, 2};
  trial.held.batch_size = {0, 4};
  trial.held.run = Run::infer;
  trial.infeasible = true;
  trial.modes_profiled = 9;
  trial.probes_over_cap = 2;
  trial.filled_nearest = 3;
  trial.filled_model = 5;
  trial.refused = 7;
  trial.over_cap_j = 0.1 + 0.2;
  trial.search_s = 1e-9;
  trial.search_j = 12345.678;
  trial.failure = "a.lua:1: \"quoted\"";
  trial.sequence = {0, 4'000'000'000, 7, 7};
  trial.drifts = 3;
  trial.reference = setting_of(small_profile().cells()[4], Kind::train);
  const std::string line = format_trial(0xfedcba9876543210U, trial);
  const auto read = parse_trial(line);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->first, 0xfedcba9876543210U);
  EXPECT_EQ(format_trial(read->first, read->second), line);
  EXPECT_EQ(read->second.over_cap_j, trial.over_cap_j);
  EXPECT_EQ(read->second.sequence, trial.sequence);
  EXPECT_EQ(read->second.drifts, trial.drifts);
  EXPECT_EQ(read->second.reference, trial.reference);
  for (std::size_t cut = 0; cut < line.size(); ++cut) {
    EXPECT_FALSE(parse_trial(line.substr(0, cut))) << cut;
  }
}

TEST(TrialLine, RefusesWhatNoTrialCanBe) {
  const std::string good = format_trial(1, Trial());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string line = good;
    line.replace(line.find(from), from.size(), to);
    return line;
  };
  EXPECT_TRUE(parse_trial(good));
  EXPECT_FALSE(parse_trial(good)->second.reference) << "as in files of before";
  EXPECT_FALSE(parse_trial(with("\"run\":2", "\"run\":2,\"reference\":{\"mode\":[]}")));
  EXPECT_FALSE(parse_trial("[]"));
  EXPECT_TRUE(parse_trial(with("\"run\":2", "\"run\":2,\"sequence\":[1]")));
  EXPECT_FALSE(parse_trial(with("\"run\":2", "\"run\":2,\"sequence\":[-1]")));
  EXPECT_FALSE(parse_trial(with("\"run\":2", "\"run\":2,\"sequence\":3")));
  EXPECT_FALSE(parse_trial(with("\"mode\":[]", "\"mode\":[1,2,3,4,5,6,7,8,9]")));
  EXPECT_FALSE(parse_trial(with("\"mode\":[]", "\"mode\":{\"a\":1}")));
  EXPECT_FALSE(parse_trial(with("0000000000000001", "000000000000000x")));
  EXPECT_FALSE(parse_trial(with("\"run\":2", "\"run\":3")));
  EXPECT_FALSE(parse_trial(with("\"batch\":[0,0]", "\"batch\":[0]")));
  EXPECT_FALSE(parse_trial(with("\"batch\":[0,0]", "\"batch\":[0,3000000000]")));
  EXPECT_FALSE(parse_trial(with("\"modes_profiled\":0", "\"modes_profiled\":-1")));
  EXPECT_FALSE(parse_trial(with("\"modes_profiled\":0", "\"modes_profiled\":0.5")));
}

}  // namespace
}  // namespace gearshift
