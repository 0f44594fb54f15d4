#include "evaluation/concurrent_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/evaluation/fake_grid.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

struct Printed {
  std::string text;
  std::string html;
  std::string json;
};

// One policy whose choice loses 10 % of training under each cap.
Printed printed(const std::vector<std::int64_t>& caps_w, const std::vector<std::int64_t>& solved,
                const std::string& failure = "", const std::vector<std::int64_t>& infeasible = {}) {
  const Profile profile = small_profile(Kind::infer, {4, 16});
  Grid grid = small_grid(profile);
  grid.policies.pop_back();
  grid.seeds.pop_back();
  grid.problems.clear();
  ConcurrentResults results;
  for (const std::int64_t cap_w : caps_w) {
    ConcurrentRow row;
    row.of.problem = grid.problems.size();
    row.solvable = true;
    row.solved = std::find(solved.begin(), solved.end(), cap_w) != solved.end();
    row.second.loss = 0.1;
    if (!row.solved) row.trial.failure = failure;
    row.trial.infeasible = std::count(infeasible.begin(), infeasible.end(), cap_w) > 0;
    results.rows.push_back(row);
    grid.problems.push_back(concurrent_problem(1000 * cap_w, milliseconds(500), 40));
  }
  results.standings = summarise_concurrent(grid, results.rows);
  return {concurrent_text(grid, results, nullptr),
          concurrent_html(grid, results, nullptr, {"gearshift evaluate", "1", "now", ""}),
          concurrent_json(grid, results, nullptr)};
}

std::string page(const std::vector<std::int64_t>& caps_w, const std::vector<std::int64_t>& solved) {
  return printed(caps_w, solved).html;
}

TEST(ConcurrentHtml, JoinsTheLossUnderLimitsHoweverFarApart) {
  EXPECT_THAT(page({15, 25, 35}, {15, 25, 35}),
              ContainsRegex("<path class=\"line [^\"]*\" d=\"M[^ML\"]+L[^ML\"]+L[^ML\"]+\"/>"));
}

TEST(ConcurrentHtml, LeavesAGapWhereALimitHasNoLoss) {
  const std::string text = page({20, 22, 24, 26}, {20, 22, 26});
  EXPECT_THAT(text, ContainsRegex("d=\"M[^ML\"]+L[^ML\"]+M[^ML\"]+\"/>"));
  EXPECT_THAT(text, Not(ContainsRegex("d=\"M[^ML\"]+L[^ML\"]+L")));
}

TEST(ConcurrentReports, TellOfScriptsThatFailed) {
  const Printed out = printed({15, 25, 35, 45}, {15, 25, 35}, "first.lua:2: no idea\ncalls:");
  EXPECT_THAT(out.text, ContainsRegex("solved %  +failed %"));
  EXPECT_THAT(out.text, HasSubstr("\nfirst failed in 1 of 4 rows: first.lua:2: no idea\n"));
  EXPECT_THAT(out.html, HasSubstr("<th scope=\"col\">failed %</th>"));
  EXPECT_THAT(out.html, HasSubstr("<p>first failed in 1 of 4 rows: first.lua:2: no idea</p>"));
  EXPECT_THAT(printed({15, 25}, {15}).text, Not(HasSubstr("failed")));
}

// The safe setting of one that chose none may keep the limits: luck, of which a solved share does
// not tell.
TEST(ConcurrentReports, TellWhatShareOfTheSolvableEndedAsInfeasible) {
  const Printed out = printed({15, 25, 35, 45}, {15, 25, 35}, "", {15});
  EXPECT_THAT(out.text, ContainsRegex("solved %  infeasible %  [^\n]+\n[^\n]+ 75.0 +25.0 "));
  EXPECT_THAT(out.html, HasSubstr("<th scope=\"col\">infeasible %</th><th scope=\"col\">loss/s"));
  const std::string without = printed({15, 25}, {15}).text;
  EXPECT_THAT(without.substr(0, without.find("Solved:")), Not(HasSubstr("infeasible")));
}

TEST(ConcurrentReports, HaveTheQuartilesOfTheOthers) {
  const auto out = nlohmann::json::parse(printed({15, 25, 35}, {15, 25, 35}).json);
  const auto& loss = out["summary"]["policies"][0]["loss_per_s"];
  for (const char* of : {"least", "first_quartile", "median", "third_quartile", "most", "mean"}) {
    EXPECT_DOUBLE_EQ(loss[of], 0.1) << of;
  }
}

}  // namespace
}  // namespace gearshift
