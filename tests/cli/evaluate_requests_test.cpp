#include "cli/evaluate_requests.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_board.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

using fakes::mode;

Profile served_in(double minibatch_ms) {
  Profile profile(fakes::two_knobs());
  profile.device = "board";
  profile.workload = "net";
  profile.kind = Kind::infer;
  profile.add({mode(4, 900000), 4, minibatch_ms, 20, {}});
  return profile;
}

// One sequence of requests beside all choices and seeds would be one experiment, counted many
// times.
TEST(RequestChecks, EachSeedAndSettingMeetsRequestsOfItsOwn) {
  RequestChecks checks({"poisson"}, 1, 0.03);
  const Profile fast = served_in(5);
  HeldSetting held{.infer = &fast,
                   .mode = mode(4, 900000),
                   .infer_batch = 4,
                   .train_minibatch_ms = 20,
                   .goal = {.latency = std::chrono::milliseconds(500), .arrivals_per_s = 40}};
  const double first = checks.of(held).front().latency_p99_ms;
  held.seed = 2;
  EXPECT_NE(checks.of(held).front().latency_p99_ms, first);
  held.seed = 1;
  EXPECT_EQ(checks.of(held).front().latency_p99_ms, first) << "and the same again";
}

TEST(RequestChecks, TracesAreToldApart) {
  fakes::TempTree folder;
  folder.put("a.csv", "t_s\n0\n1\n2\n3\n");
  folder.put("b.csv", "t_s\n0\n0.1\n2\n3\n");
  const Profile fast = served_in(5);
  const HeldSetting held{.infer = &fast,
                         .mode = mode(4, 900000),
                         .infer_batch = 4,
                         .train_minibatch_ms = 20,
                         .goal = {.latency = std::chrono::milliseconds(500), .arrivals_per_s = 40}};
  const std::string a = "trace:" + folder.at("a.csv").string();
  const std::string b = "trace:" + folder.at("b.csv").string();
  const auto names = [&](const std::vector<std::string>& patterns) {
    std::vector<std::string> told;
    RequestChecks checks(patterns, 1, 0);
    for (const RequestOutcome& one : checks.of(held)) told.push_back(one.arrivals);
    return told;
  };
  EXPECT_EQ(names({"poisson", a}), (std::vector<std::string>{"poisson", "trace"}));
  EXPECT_EQ(names({a, b}), (std::vector<std::string>{a, b}));
}

TEST(RequestChecks, TablesOfOneNameAreHeldApart) {
  RequestChecks checks({"poisson"}, 1, 0.03);
  const Profile fast = served_in(5);
  const Profile slow = served_in(60);
  HeldSetting held{.infer = &fast,
                   .mode = mode(4, 900000),
                   .infer_batch = 4,
                   .train_minibatch_ms = 20,
                   .goal = {.latency = std::chrono::milliseconds(500), .arrivals_per_s = 40}};
  const double trained_beside_fast = checks.of(held).front().trained_per_s;
  held.infer = &slow;
  EXPECT_LT(checks.of(held).front().trained_per_s, trained_beside_fast);
  held.infer = &fast;
  EXPECT_EQ(checks.of(held).front().trained_per_s, trained_beside_fast);
}

}  // namespace
}  // namespace gearshift
