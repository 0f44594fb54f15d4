#include "evaluation/case_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <set>
#include <stdexcept>

namespace gearshift {
namespace {

std::vector<std::size_t> up_to(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(CaseRun, RunsEveryNumberOnceAndTellsOfEach) {
  for (const unsigned threads : {1u, 2u, 8u}) {
    std::vector<std::atomic<int>> runs(100);
    std::multiset<std::size_t> told;
    run_cases(
        up_to(runs.size()), [&](std::size_t i) { ++runs[i]; },
        [&](const std::vector<std::size_t>& ended) {
          for (const std::size_t i : ended) EXPECT_EQ(runs[i], 1) << "told before it had ended";
          told.insert(ended.begin(), ended.end());
          return true;
        },
        threads);
    const std::vector<std::size_t> all = up_to(runs.size());
    EXPECT_EQ(told, (std::multiset<std::size_t>(all.begin(), all.end())));
  }
}

TEST(CaseRun, RunsTheNumbersItIsGiven) {
  std::set<std::size_t> seen;
  run_cases(
      {7, 3}, [&](std::size_t i) { seen.insert(i); }, [](const auto&) { return true; }, 1);
  EXPECT_EQ(seen, (std::set<std::size_t>{3, 7}));
  run_cases(
      {}, [&](std::size_t) { FAIL(); }, [](const auto&) { return true; }, 2);
}

TEST(CaseRun, BeginsNothingOnceItIsToldToStopAndTellsOfWhatHadBegun) {
  std::atomic<bool> told_to_stop = false;
  std::atomic<std::size_t> run = 0;
  std::size_t ended = 0;
  run_cases(
      up_to(1'000'000),
      [&](std::size_t) {
        if (++run > 1) told_to_stop.wait(false);
      },
      [&](const std::vector<std::size_t>& now) {
        ended += now.size();
        told_to_stop = true;
        told_to_stop.notify_all();
        return false;
      },
      2);
  EXPECT_EQ(ended, run);
  EXPECT_LT(run, 1'000'000u);
}

TEST(CaseRun, HandsOnWhatEitherSideThrows) {
  const auto fine = [](const auto&) { return true; };
  const auto failing = [](std::size_t i) {
    if (i == 5) throw std::runtime_error("case 5");
  };
  EXPECT_THROW(run_cases(up_to(10), failing, fine, 3), std::runtime_error);
  const auto full = [](const auto&) -> bool { throw std::logic_error("disk full"); };
  EXPECT_THROW(run_cases(
                   up_to(10), [](std::size_t) {}, full, 3),
               std::logic_error);
}

}  // namespace
}  // namespace gearshift
