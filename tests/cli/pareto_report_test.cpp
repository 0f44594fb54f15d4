#include "cli/pareto_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gearshift {
namespace {

using testing::HasSubstr;
using testing::Not;

Pareto predicted_by(const std::string& device, const std::string& workload) {
  Profile profile({{{.name = "gpu_mhz", .unit = Unit::khz, .values = {300'000, 600'000}}}});
  for (const std::int64_t khz : {300'000, 600'000}) {
    ProfileCell cell;
    cell.mode = profile.knobs().lowest();
    cell.mode.values[0] = khz;
    cell.batch_size = 16;
    cell.minibatch_ms = 1e7 / static_cast<double>(khz);
    cell.power_w = static_cast<double>(khz) / 3e4;
    profile.add(cell);
  }
  Pareto pareto;
  pareto.device = "jetson-agx-orin";
  pareto.workload = "lstm";
  pareto.knobs = profile.knobs();
  pareto.measured = pareto.predicted = trade_off(profile);
  pareto.model = {device, workload};
  return pareto;
}

TEST(ParetoReport, AModelOfAnotherWorkloadOrBoardIsNamed) {
  const Pareto workload = predicted_by("jetson-agx-orin", "mobnet");
  const std::string told = "by a model of jetson-agx-orin mobnet, another workload";
  EXPECT_THAT(pareto_text(workload), HasSubstr("what is predicted is " + told + "\n"));
  EXPECT_THAT(pareto_svg(workload), HasSubstr("jetson-agx-orin lstm, " + told));
  EXPECT_EQ(pareto_json(workload)["model"]["workload"], "mobnet");
  EXPECT_EQ(other_model(predicted_by("jetson-orin-nano", "mobnet")),
            "jetson-orin-nano mobnet, another board and workload");
  EXPECT_EQ(other_model(predicted_by("jetson-orin-nano", "lstm")),
            "jetson-orin-nano lstm, another board");
}

TEST(ParetoReport, AModelOfTheSameIsNot) {
  const Pareto same = predicted_by("jetson-agx-orin", "lstm");
  EXPECT_EQ(other_model(same), "");
  EXPECT_THAT(pareto_text(same), Not(HasSubstr("by a model of")));
  EXPECT_THAT(pareto_svg(same), Not(HasSubstr("by a model of")));
}

}  // namespace
}  // namespace gearshift
