#include "evaluation/table_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "evaluation/figures.h"
#include "evaluation/html_report.h"
#include "evaluation/number_text.h"
#include "tests/evaluation/fake_grid.h"

namespace gearshift {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Reports : testing::Test {
  Profile profile = small_profile();
  Grid grid = small_grid(profile);
  std::vector<Row> rows;
  std::vector<Standing> standings;

  Reports() { fill(); }

  void fill() {
    const RunCase run_case = any_cell(grid);
    rows.clear();
    for (std::size_t i = 0; i < grid.size(); ++i) {
      rows.push_back(judge(grid, grid.at(i), run_case(grid.at(i))));
    }
    standings = summarise(grid, rows);
  }
  std::string html() {
    return html_report(grid, rows, standings, {"gearshift evaluate", "1", "today", "none"});
  }
};

TEST_F(Reports, GiveJsonRowsOfTheFieldsThatAreDocumented) {
  const auto out = ordered_json::parse(json_report(grid, rows, standings));
  ASSERT_EQ(out["rows"].size(), grid.size());
  std::vector<std::string> names;
  for (const auto& [name, value] : out["rows"][0].items()) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("policy", "workload", "problem", "objective", "energy_weight",
                                 "energy_limit_j", "cap_w", "latency_ms", "arrivals_per_s", "seed",
                                 "solvable", "solved", "optimum", "chosen", "excess", "power_w",
                                 "modes_profiled", "probes_over_cap", "over_cap_j", "infeasible",
                                 "failure"));
  const auto& unsolvable = out["rows"][0];
  EXPECT_EQ(unsolvable["cap_w"], 10);
  EXPECT_FALSE(unsolvable["solvable"]);
  EXPECT_TRUE(unsolvable["optimum"].is_null() && unsolvable["latency_ms"].is_null());
  for (const auto& row : out["rows"]) {
    if (!row["solvable"]) continue;
    EXPECT_DOUBLE_EQ(row["excess"].get<double>(),
                     row["chosen"].get<double>() / row["optimum"].get<double>() - 1);
    EXPECT_EQ(row["solved"].get<bool>(),
              row["power_w"].get<double>() <= row["cap_w"].get<double>());
  }
}

TEST_F(Reports, SayWhatAScriptDiedOfAndJudgeWhatIsHeldAllTheSame) {
  rows[5].trial.failure = "first.lua:2: no idea";
  const auto out = ordered_json::parse(json_report(grid, rows, standings));
  EXPECT_EQ(out["rows"][5]["failure"], "first.lua:2: no idea");
  EXPECT_EQ(out["rows"][5]["solved"], rows[5].solved);
  EXPECT_EQ(out["rows"][4]["failure"], "");
}

TEST_F(Reports, TellOfScriptsThatFailedBelowTheFirstTable) {
  EXPECT_THAT(text_report(grid, rows, standings) + html(), Not(HasSubstr("failed")));
  for (const std::size_t i : {20u, 21u, 22u, 23u}) {
    rows[i].trial.failure = "first.lua:" + std::to_string(i) + ": <no> idea\ncalls:\n  first.lua:2";
  }
  standings = summarise(grid, rows);
  const std::string text = text_report(grid, rows, standings);
  EXPECT_THAT(text, HasSubstr("solved %  failed %"));
  EXPECT_THAT(text,
              HasSubstr("\nfirst failed in 4 of 32 rows: first.lua:20: <no> idea\n\nProblems"));
  EXPECT_THAT(text, Not(HasSubstr("calls")));
  EXPECT_THAT(text, Not(HasSubstr("second failed")));
  EXPECT_THAT(html(), HasSubstr("<th scope=\"col\">failed %</th>"));
  EXPECT_THAT(html(), HasSubstr("first failed in 4 of 32 rows: first.lua:20: &lt;no&gt; idea</p>"));
}

// The safe setting may keep the limits: luck, of which a solved share does not tell.
TEST_F(Reports, TellWhatShareOfTheSolvableEndedAsInfeasible) {
  EXPECT_THAT(text_report(grid, rows, standings), Not(HasSubstr("infeasible %  median %")));
  rows[24].trial.infeasible = true;
  ASSERT_TRUE(rows[24].solvable);
  standings = summarise(grid, rows);
  EXPECT_THAT(text_report(grid, rows, standings), HasSubstr("solved %  infeasible %  median %"));
  EXPECT_THAT(html(), HasSubstr("<th scope=\"col\">infeasible %</th><th scope=\"col\">median"));
  const auto out = ordered_json::parse(json_report(grid, rows, standings));
  EXPECT_EQ(out["rows"][24]["infeasible"], true);
  EXPECT_EQ(out["rows"][23]["infeasible"], false);
  EXPECT_EQ(out["summary"]["policies"][0]["solvable"]["gave_up"], 1);
}

TEST_F(Reports, CountFailuresOverAllWorkloadsOnce) {
  grid.workloads.push_back({"again", OptimumTable(profile)});
  fill();
  for (Row& row : rows) row.trial.failure = row.of.policy == 1 ? "second.lua:1: no" : "";
  standings = summarise(grid, rows);
  EXPECT_THAT(text_report(grid, rows, standings),
              HasSubstr("\nsecond failed in 64 of 64 rows: second.lua"));
  EXPECT_THAT(text_report(grid, rows, standings), Not(HasSubstr("in 32 of 32")));
}

TEST_F(Reports, PrintTheFigureOverAllCellsBesideWhereSomeAreSuspect) {
  const std::vector<Row> all_rows = rows;
  const std::vector<Standing> all_standings = standings;
  const AllCells all{.rows = all_rows, .standings = all_standings};
  grid.workloads[0].optimum = OptimumTable(profile, {}, {false, false, false, false, false, true});
  fill();
  const auto out = ordered_json::parse(json_report(grid, rows, standings, &all));
  const auto& last = out["rows"].back();
  EXPECT_EQ(last["optimum"], 15);
  EXPECT_EQ(last["all_cells"]["optimum"], 10);
  EXPECT_LT(out["summary"]["policies"][0]["solvable"]["excess"]["mean"],
            out["summary"]["policies"][0]["all_cells"]["solvable"]["excess"]["mean"]);
  EXPECT_THAT(text_report(grid, rows, standings, &all), HasSubstr("the suspect ones too"));
  EXPECT_THAT(text_report(grid, rows, standings), Not(HasSubstr("suspect")));
  EXPECT_THAT(csv_report(grid, rows, &all), HasSubstr(",optimum_all,excess_all\n"));
}

TEST_F(Reports, SummariseTheVeryRowsTheyGive) {
  const auto out = ordered_json::parse(json_report(grid, rows, standings));
  ASSERT_EQ(out["summary"]["policies"].size(), 2u);
  for (const auto& of : out["summary"]["policies"]) {
    std::size_t solvable = 0, solved = 0, over = 0, all = 0;
    double worst = -1;
    for (const auto& row : out["rows"]) {
      if (row["policy"] != of["policy"]) continue;
      ++all;
      if (!row["solvable"]) continue;
      ++solvable;
      if (row["power_w"] > row["cap_w"]) ++over;
      if (!row["solved"]) continue;
      ++solved;
      worst = std::max(worst, row["excess"].get<double>());
    }
    EXPECT_EQ(of["solvable"]["rows"], solvable);
    EXPECT_EQ(of["solvable"]["solved"], solved);
    EXPECT_EQ(of["solvable"]["over_budget"], over);
    EXPECT_EQ(of["solvable"]["excess"]["most"], worst);
    EXPECT_EQ(of["unsolvable"]["rows"], all - solvable);
  }
}

TEST_F(Reports, HaveAColumnForALimitOfEnergyWhereThereIsOne) {
  EXPECT_THAT(text_report(grid, rows, standings), Not(HasSubstr("over energy %")));
  for (Problem& problem : grid.problems) problem.goal.energy_j = 1e-9;
  fill();
  EXPECT_THAT(text_report(grid, rows, standings), HasSubstr("over energy %"));
}

TEST_F(Reports, SayWhatFillsTheSettingsThatWereRefused) {
  const std::string hint = "--missing nearest fills those that were refused";
  rows[3].trial.filled_nearest = 2;
  standings = summarise(grid, rows);
  EXPECT_THAT(text_report(grid, rows, standings), Not(HasSubstr(hint))) << "none was";
  rows[5].trial.refused = 32;
  standings = summarise(grid, rows);
  EXPECT_THAT(text_report(grid, rows, standings), HasSubstr(hint));
  EXPECT_THAT(html(), HasSubstr(hint));
}

TEST_F(Reports, TellFilledSettingsFromMeasuredOnes) {
  EXPECT_THAT(html(), HasSubstr(", 6 measured settings</dd>"));
  EXPECT_THAT(html(), HasSubstr("exhaustive over the measured settings"));
  EXPECT_THAT(html(), HasSubstr("Grey points are all measured settings,"));
  grid.workloads[0].filled = 2;
  grid.workloads[0].filled_from = "from the nearest cell";
  EXPECT_THAT(html(), HasSubstr(", 4 measured settings, 2 filled from the nearest cell</dd>"));
  EXPECT_THAT(html(), HasSubstr("minibatch time of 4 measured settings, 2 filled from the nearest "
                                "cell, and the settings"));
  EXPECT_THAT(html(), HasSubstr("exhaustive over all settings, filled ones too"));
  EXPECT_THAT(html(), HasSubstr("Grey points are all settings, filled ones too,"));
  EXPECT_THAT(html(), Not(HasSubstr("6 measured")));
}

TEST_F(Reports, QuoteCsvFieldsThatNeedIt) {
  grid.policies[0].name = "a, \"b\"";
  std::istringstream lines(csv_report(grid, rows));
  std::string header, first;
  std::getline(lines, header);
  std::getline(lines, first);
  EXPECT_THAT(header, testing::StartsWith("policy,workload,problem,cap_w,"));
  EXPECT_THAT(first, testing::StartsWith("\"a, \"\"b\"\"\",lenet,train,10,,,1,false,false,,"));
  EXPECT_THAT(first, HasSubstr(",cpu_cores="));
}

TEST_F(Reports, AlignTextTables) {
  std::istringstream lines(text_report(grid, rows, standings));
  std::string title, header, first, second;
  std::getline(lines, title);
  std::getline(lines, header);
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_EQ(title, "All solvable problems");
  EXPECT_EQ(header.size(), first.size());
  EXPECT_EQ(first.size(), second.size());
  EXPECT_THAT(first, testing::StartsWith("first   lenet "));
}

TEST_F(Reports, DrawHtmlThatFetchesNothingAndRunsNothing) {
  const std::string text = html();
  for (const char* banned : {"http:", "https:", "<script", "url(", "@import", "<link", "src="}) {
    EXPECT_THAT(text, Not(HasSubstr(banned)));
  }
  EXPECT_THAT(text, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(text, HasSubstr("power limit, W"));
  std::size_t figures = 0;
  for (std::size_t at = text.find("<figure>"); at != std::string::npos;
       at = text.find("<figure>", at + 1)) {
    ++figures;
  }
  EXPECT_EQ(figures, 4u);
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, Not(HasSubstr("inf\"")));
}

TEST_F(Reports, DrawNoLimitThatIsNone) {
  EXPECT_THAT(html(), HasSubstr("by power limit"));
  grid.problems = {train_problem(30'000)};
  grid.problems.push_back(grid.problems.front());
  grid.problems.back().goal.power_mw.reset();
  fill();
  const Chart chart = excess_chart(grid, rows, 0);
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) EXPECT_EQ(point.x, 30);
  }
  grid.problems.erase(grid.problems.begin());
  fill();
  EXPECT_THAT(html(), Not(HasSubstr("by power limit")));
}

TEST_F(Reports, EscapeNamesInHtml) {
  grid.policies[0].name = "<b onclick=\"x\">";
  fill();
  EXPECT_THAT(html(), Not(HasSubstr("<b onclick")));
  EXPECT_THAT(html(), HasSubstr("&lt;b onclick=&quot;x&quot;&gt;"));
}

TEST_F(Reports, StandWhereNothingIsSolvable) {
  grid.problems = {train_problem(5'000)};
  fill();
  EXPECT_THAT(html(), HasSubstr("counted apart"));
  EXPECT_THAT(text_report(grid, rows, standings), HasSubstr("-"));
}

TEST(NumberText, IsAsShortAsItIsTrue) {
  EXPECT_EQ(percent(0.0344), "3.4");
  EXPECT_EQ(percent(0.00617), "0.62");
  EXPECT_EQ(percent(1), "100");
  EXPECT_EQ(percent(0), "0");
  EXPECT_EQ(fixed(-0.001, 1), "0.0");
  EXPECT_EQ(exact(0.1), "0.1");
  EXPECT_EQ(fixed(1.0 / 0.0, 1), "-");
}

}  // namespace
}  // namespace gearshift
