// The optimum on profiles measured on a real board, against what was counted on them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <tuple>

#include "evaluation/optimum_table.h"
#include "tests/evaluation/measured_profiles.h"
#include "tests/evaluation/problems.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

// By definition, over the rows of the table; nullopt where nothing fits.
std::optional<double> slow_infer_optimum_s(const Profile& profile, double cap_w, double latency_s,
                                           double rate) {
  std::optional<double> least;
  for (const ProfileCell& cell : profile.cells()) {
    const double t = cell.minibatch_ms / 1000;
    const double fill = cell.batch_size / rate;
    if (cell.power_w <= cap_w && t <= fill && fill + t <= latency_s) {
      least = std::min(least.value_or(1e9), fill + t);
    }
  }
  return least;
}

TEST(MeasuredFolder, IsTheOneThatTheEnvironmentNames) {
  const char* const given = std::getenv("GEARSHIFT_MEASURED");
  const std::string before = given != nullptr ? given : "";
  ::setenv("GEARSHIFT_MEASURED", "/no/such/folder", 1);
  EXPECT_EQ(measured_folder(), "/no/such/folder");
  EXPECT_EQ(measured_profile("agx_orin_lstm_train.csv"), std::nullopt);
  EXPECT_NE(no_measured_data().find("no measured data in /no/such/folder"), std::string::npos);
  ::setenv("GEARSHIFT_MEASURED", "", 1);
  EXPECT_EQ(measured_folder().filename(), "data");
  if (given != nullptr) ::setenv("GEARSHIFT_MEASURED", before.c_str(), 1);
  if (given == nullptr) ::unsetenv("GEARSHIFT_MEASURED");
}

struct MeasuredInference : testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(MeasuredInference, SolvesAsManyProblemsAsWerePublished) {
  const auto [name, expected] = GetParam();
  const auto profile = measured_profile(name);
  if (!profile) GTEST_SKIP() << no_measured_data();
  ASSERT_EQ(profile->cells().size(), 2205u);
  const OptimumTable table(*profile);
  int problems = 0;
  int solvable = 0;
  for (int cap_w = 10; cap_w <= 50; ++cap_w) {
    for (int latency_ms = 50; latency_ms <= 150; latency_ms += 10) {
      for (int rate = 30; rate <= 90; rate += 5) {
        const auto best = table.best(infer_problem(1000 * cap_w, milliseconds(latency_ms), rate));
        ++problems;
        if (best) {
          ++solvable;
          EXPECT_LE(best->cell->batch_size, 4);
        }
        if (problems % 7 != 0) continue;  // the slow way, on every seventh
        const auto slow = slow_infer_optimum_s(*profile, cap_w, latency_ms / 1000.0, rate);
        ASSERT_EQ(best.has_value(), slow.has_value());
        if (best) {
          EXPECT_NEAR(best->value, 1000 * *slow, 1e-9);
        }
      }
    }
  }
  EXPECT_EQ(problems, 5863);
  EXPECT_EQ(solvable, expected);
}

INSTANTIATE_TEST_SUITE_P(Orin, MeasuredInference,
                         testing::Values(std::tuple("agx_orin_resnet_infer.csv", 4041),
                                         std::tuple("agx_orin_mobnet_infer.csv", 4297)),
                         [](const auto& one) {
                           return one.index == 0 ? std::string("resnet") : std::string("mobnet");
                         });

TEST(MeasuredTraining, IsSolvableFromFifteenWattsOnAndBoundUpToTheForties) {
  for (const char* name :
       {"agx_orin_resnet_train.csv", "agx_orin_mobnet_train.csv", "agx_orin_lstm_train.csv"}) {
    const auto profile = measured_profile(name);
    if (!profile) GTEST_SKIP() << no_measured_data();
    ASSERT_EQ(profile->cells().size(), 441u);
    const OptimumTable table(*profile);
    for (int cap_w = 10; cap_w <= 50; ++cap_w) {
      const auto best = table.best(train_problem(1000 * cap_w));
      EXPECT_EQ(best.has_value(), cap_w >= 15) << name << " at " << cap_w << " W";
      double least = 1e9;
      for (const ProfileCell& cell : profile->cells()) {
        if (cell.power_w <= cap_w) least = std::min(least, cell.minibatch_ms);
      }
      if (best) {
        EXPECT_EQ(best->value, least) << name << " at " << cap_w << " W";
      }
    }
    EXPECT_TRUE(table.binds(train_problem(39'000))) << name;  // LSTM is fastest at 39.87 W
  }
}

}  // namespace
}  // namespace gearshift
