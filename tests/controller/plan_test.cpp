// The plan of a battery and a server that must answer in time: the plan is kept where anything
// serves under it, and gives way no further than it must.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "controller/controller.h"
#include "tests/fakes/serving_rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;

class PlanLimit : public LimitSource {
 public:
  explicit PlanLimit(std::int64_t power_mw) : power_mw_(power_mw) {}
  std::string_view name() const override { return "battery"; }
  void consume(const Event&) override {}
  Limit limit(Time) override { return {.planned_mw = power_mw_}; }
  void serve_above(std::int64_t power_mw) override { serves_mw = power_mw; }
  void hear(const Prevailing& prevailing) override { heard = prevailing; }

  std::int64_t serves_mw = -1;  // as last told
  Prevailing heard;

 private:
  std::int64_t power_mw_;
};

// By default 8 W, of which the safe mode's 10 W are too much already. What the plan was told last
// to serve above, mW.
std::int64_t run_with_plan(ServingRig& rig, std::int64_t power_mw = 8'000) {
  PlanLimit plan(power_mw);
  LimitSource* limits[] = {&rig.limit, &plan};
  Controller(rig.world, rig.board, rig.policy, rig.recorder, limits, rig.options).run();
  return plan.serves_mw;
}

TEST(Plan, GivesWayToTheLeastPowerThatServesInTime) {
  ServingRig rig(best_of(kThree));
  rig.world.attach_server(milliseconds(0), 60);
  const std::int64_t serves_mw = run_with_plan(rig);
  EXPECT_EQ(serves_mw, rig.world.published.cap_mw);
  EXPECT_EQ(rig.world.published.cap_source.view(), "latency floor");
  // At 60 a second the slow mode answers in time beside training.
  std::int64_t least_mw = 0;
  for (const KeptNote& note : rig.recorder.of(NoteType::observation)) {
    if (!note.observation->ok()) continue;
    const std::int64_t mw = note.observation->power_mean_mw + note.observation->power_margin_mw;
    if (least_mw == 0 || mw < least_mw) least_mw = mw;
  }
  EXPECT_GT(least_mw, 8'000);
  EXPECT_EQ(rig.world.published.cap_mw, (least_mw + 499) / 500 * 500);
  EXPECT_EQ(rig.recorder.of(NoteType::setting).back().setting.mode, kSlow);
}

// Looks for the best as far as the cap goes: what draws less is never measured under a higher one.
ListPolicy::Decide greedy(const Request& high, const std::optional<Request>& low) {
  return [=](const PolicyContext& context, const std::vector<Observation>& answers) {
    const bool capped = context.goal.power_mw && *context.goal.power_mw < 15'000;
    if (capped && !low) return Request{};
    const Request& asked = capped ? *low : high;
    if (answers.empty()) return asked;
    return answers[0].keeps(context.goal) ? Request{Request::What::hold, asked.setting} : Request{};
  };
}

TEST(Plan, IsKeptWhereASearchUnderItFindsWhatServes) {
  ServingRig rig(greedy(with_batch(measure(kFast), 4), with_batch(measure(kSlow), 4)));
  rig.world.attach_server(milliseconds(0), 60);
  run_with_plan(rig, 12'000);
  EXPECT_EQ(rig.world.published.cap_source.view(), "battery");
  EXPECT_EQ(rig.world.published.cap_mw, 12'000);
  const std::vector<KeptNote> held = rig.recorder.of(NoteType::hold);
  EXPECT_EQ(held.back().setting.mode, kSlow);
  for (const Setting& setting : rig.settings_since(seconds(20))) EXPECT_EQ(setting.mode, kSlow);
}

TEST(Plan, GivesWayWhereASearchUnderItFoundNothingThatServes) {
  ServingRig rig(greedy(with_batch(measure(kFast), 4), std::nullopt));
  FakeServer& server = rig.world.attach_server(milliseconds(0), 60);
  std::int64_t before_mw = 0;
  rig.world.at(seconds(59), [&] { before_mw = rig.world.published.cap_mw; });
  rig.world.at(seconds(60), [&server] { server.per_s = 90; });
  run_with_plan(rig, 12'000);
  EXPECT_EQ(before_mw, 22'000) << "what the fast mode draws";
  int under_plan = 0;
  for (const Goal& goal : rig.policy.goals) under_plan += goal.power_mw == 12'000 ? 1 : 0;
  EXPECT_EQ(under_plan, 2) << "once at each rate";
  EXPECT_EQ(rig.world.published.cap_source.view(), "latency floor");
  EXPECT_EQ(rig.recorder.of(NoteType::hold).back().setting.mode, kFast);
}

// What serves at 17 W is found between the 22 W that are known and the 12 W of the plan.
TEST(Plan, GivesWayNoFurtherThanASearchFindsWhatServes) {
  ServingRig rig([](const PolicyContext& context, const std::vector<Observation>& answers) {
    const std::int64_t cap_mw = context.goal.power_mw.value_or(30'000);
    if (cap_mw < 15'000) return Request{};
    const Request asked = with_batch(measure(cap_mw < 20'000 ? kMiddle : kFast), 4);
    if (answers.empty()) return asked;
    return answers[0].keeps(context.goal) ? Request{Request::What::hold, asked.setting} : Request{};
  });
  rig.world.attach_server(milliseconds(0), 60);
  run_with_plan(rig, 12'000);
  EXPECT_EQ(rig.world.published.cap_source.view(), "latency floor");
  EXPECT_EQ(rig.world.published.cap_mw, 17'000);
  EXPECT_EQ(rig.recorder.of(NoteType::hold).back().setting.mode, kMiddle);
}

TEST(Plan, OfAnOperatorDoesNotGiveWay) {
  ServingRig rig(best_of(kThree), seconds(120), 9'000);
  rig.world.attach_server(milliseconds(0), 60);
  run_with_plan(rig);
  EXPECT_EQ(rig.world.published.cap_source.view(), "operator");
  EXPECT_EQ(rig.world.published.cap_mw, 9'000);
}

TEST(Plan, HearsTheLeastThatTheOthersSay) {
  ServingRig rig(best_of(kThree), seconds(5), 9'000);
  PlanLimit plan(8'000);
  PlanLimit third(8'500);
  LimitSource* limits[] = {&rig.limit, &third, &plan};
  Controller(rig.world, rig.board, rig.policy, rig.recorder, limits, rig.options).run();
  EXPECT_EQ(plan.heard, (Prevailing{.others_mw = 8'500}));
  EXPECT_EQ(third.heard, (Prevailing{.others_mw = 8'000}));
}

TEST(Plan, HearsOfNoCapWhereItIsAlone) {
  ServingRig rig(best_of(kThree), seconds(5));
  PlanLimit plan(8'000);
  LimitSource* limits[] = {&plan};
  Controller(rig.world, rig.board, rig.policy, rig.recorder, limits, rig.options).run();
  EXPECT_EQ(plan.heard, Prevailing());
}

TEST(Plan, HoldsWhileNobodyAsks) {
  ServingRig rig(best_of(kThree));
  rig.world.attach_server(milliseconds(0), 0);
  EXPECT_EQ(run_with_plan(rig), 0);
  EXPECT_EQ(rig.world.published.cap_source.view(), "battery");
  EXPECT_EQ(rig.world.published.cap_mw, 8'000);
}

}  // namespace
}  // namespace gearshift
