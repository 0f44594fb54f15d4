#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evaluation/online_report.h"
#include "tests/evaluation/fake_grid.h"

namespace gearshift {
namespace {

using testing::HasSubstr;
using testing::Not;

// A row a seed, each with the regret of two measurements.
std::string page(const std::vector<double>& regrets) {
  const Profile profile = small_profile();
  Grid grid = small_grid(profile);
  grid.policies.pop_back();
  grid.problems = {online_problem(std::nullopt, 0.5)};
  std::vector<OnlineRow> rows;
  for (const double regret : regrets) {
    OnlineRow row;
    row.of.seed = rows.size();
    row.optimum = &profile.cells().front();
    row.regret = {regret, regret};
    rows.push_back(row);
  }
  grid.seeds.resize(rows.size());
  return online_html(grid, rows, summarise_online(rows), {"gearshift evaluate", "1", "now", ""});
}

TEST(OnlineHtml, DrawsTheMiddleOfTwoSeeds) {
  EXPECT_THAT(page({0.1, 0.3}), HasSubstr("first: 20.00 % up to measurement 2"));
  EXPECT_THAT(page({0.1, 0.4, 0.3}), HasSubstr("first: 30.00 % up to measurement 2"));
}

TEST(OnlineHtml, ASeedWithoutARegretCountsAsTheWorst) {
  const double never = std::numeric_limits<double>::infinity();
  EXPECT_THAT(page({0.1, never, 0.3}), HasSubstr("first: 30.00 % up to measurement 2"));
  EXPECT_THAT(page({0.1, never}), Not(HasSubstr("up to measurement")));
}

}  // namespace
}  // namespace gearshift
