#include "cli/simulated_problem.h"

#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace gearshift {
namespace {

// A second costs what the device may draw, not what the search is left with.
TEST(SimulatedProblem, ASecondIsPricedByTheBoardsHighestLimitWhateverIsKept) {
  SimulateOptions options;
  options.profile = testing::TempDir() + "simulated_problem.csv";
  std::ofstream(options.profile)
      << "device,workload,kind,batch_size,power_limit_w,minibatch_ms,power_w\n"
         "gpu,net,train,16,100,40,95\n"
         "gpu,net,train,16,150,30,140\n"
         "gpu,net,train,16,250,25,230\n";
  options.goal.objective = "target";
  options.keep = {"power_limit_w=100,150"};
  const SimulatedProblem made = make_simulated_problem(options);
  EXPECT_EQ(made.problem.goal.priced_power_mw, 250'000);
  EXPECT_EQ(made.problem.knobs.knobs.at(0).values.back(), 150'000);
}

TEST(SimulatedProblem, NoTrainingIsPromisedWhereOnlyRequestsAreServed) {
  SimulateOptions options;
  options.board = "jetson-agx-orin";
  options.workload = "mobilenet_v3";
  options.kind = "infer";
  options.goal.objective = "throughput";
  options.goal.rate = "60";
  try {
    make_simulated_problem(options);
    FAIL() << "it was taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("--problem concurrent"), std::string::npos);
  }
  options.goal.objective = "energy";
  EXPECT_NO_THROW(make_simulated_problem(options));
}

}  // namespace
}  // namespace gearshift
