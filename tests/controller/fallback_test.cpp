// What is taken where what is in force may not stay.
#include <gtest/gtest.h>

#include "controller/controller.h"
#include "tests/fakes/low_rig.h"
#include "tests/fakes/serving_rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

KeptNote first_setting_since(const Rig& rig, Time time) {
  for (const KeptNote& note : rig.recorder.of(NoteType::setting)) {
    if (note.time >= time) return note;
  }
  ADD_FAILURE() << "no setting was asked for";
  return {};
}

TEST(Fallback, AFallbackThatIsOverTheCapIsFollowedByTheSafeModeAndNoOtherMemory) {
  const std::vector<PowerMode> known = {kMiddle, mode(2, 900000), mode(4, 600000), mode(2, 600000)};
  LowRig rig(then_hold(known, mode(4, 600000)), seconds(60), 25000);
  rig.world.attach(seconds(1));
  // Everything draws 20 W more than it was measured to.
  rig.world.at(seconds(40), [&rig] { rig.hardware.extra_mw = 20000; });
  rig.run();
  const Time first = rig.time_of(NoteType::over_cap);
  std::vector<PowerMode> taken;
  for (const KeptNote& note : rig.recorder.of(NoteType::setting)) {
    if (note.time >= first) taken.push_back(note.setting.mode);
  }
  ASSERT_GE(taken.size(), 2U);
  EXPECT_NE(taken[0], kSlow);  // what was known to fit
  EXPECT_EQ(taken[1], kSlow);
}

// What is held at the end, after a setting with both at work, the same with one of them alone and a
// choice that is over the cap.
Setting held_after_a_look_at(Run run, Objective objective) {
  const auto decide = [run](const PolicyContext&, const std::vector<Observation>& answers) {
    Request request = with_batch(measure(kMiddle), 4);
    if (answers.size() == 1) request.setting.run = run;
    return answers.size() < 2 ? request : with_batch(hold(kFast), 4);
  };
  ServingRig rig(decide, seconds(60), 20'000);
  rig.options.goal.objective = objective;
  rig.world.attach_server(std::chrono::milliseconds(0), 40);
  rig.run();
  EXPECT_GE(rig.policy.answers.size(), 2U);
  EXPECT_TRUE(rig.policy.answers[0].ok() && rig.policy.answers[1].ok());
  EXPECT_EQ(rig.policy.answers[1].setting.run, run);
  EXPECT_FALSE(rig.recorder.of(NoteType::over_cap).empty());
  return rig.world.published.setting;
}

TEST(Fallback, WhatKeepsBothAtWorkIsTakenBeforeWhatWasMeasuredOfOneAlone) {
  EXPECT_EQ(held_after_a_look_at(Run::train, Objective::throughput).run, Run::both)
      << "training alone answers no requests";
  for (const Objective objective :
       {Objective::time, Objective::energy, Objective::target, Objective::throughput}) {
    const Setting held = held_after_a_look_at(Run::infer, objective);
    EXPECT_EQ(held.run, Run::both) << objective_name(objective) << ": nothing trains";
    EXPECT_EQ(held.mode, kMiddle);
  }
}

TEST(Fallback, TheSafeSettingDoesNotTakeOverABatchSizeThatNoWorkloadAllows) {
  LowRig rig([](const PolicyContext&, const auto&) { return hold(kMiddle, 7); }, seconds(20),
             std::nullopt);
  rig.world.attach(seconds(1));
  rig.run();
  ASSERT_FALSE(rig.recorder.of(NoteType::safe).empty());
  for (const WorkloadCommand& command : rig.world.commands) EXPECT_EQ(command.batch_size, 16);
  const Setting last = rig.recorder.of(NoteType::setting).back().setting;
  EXPECT_EQ(last.batch_size[index(Kind::train)], 16);
}

TEST(Fallback, WhatIsHeldForAChoiceThatIsKnownToFailIsToldWithItsOwnSetting) {
  LowRig rig([](const PolicyContext&, const auto&) { return hold(kFast); }, seconds(20), 30'000);
  rig.hardware.ignore = "gpu_mhz";  // at 300
  rig.world.attach(seconds(1));
  rig.run();
  const std::vector<KeptNote> told = rig.recorder.of(NoteType::safe);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told[0].text, "the policy's choice is known to fail: not_applied");
  EXPECT_EQ(told[0].setting.mode, kSlow);
}

TEST(Fallback, ABatchTooLargeForTheLowestModeIsMadeSmallerBeforeTheCapIsCalledInfeasible) {
  const auto decide = [](const PolicyContext&, const std::vector<Observation>& answers) {
    return answers.empty() ? measure(kSlow, 32) : hold(kSlow, 8);
  };
  LowRig rig(decide, seconds(60), 13'500);
  rig.hardware.sample_mw = 200;  // 11.6 W of 8 samples, 16.4 W of 32
  rig.world.attach(seconds(1));
  rig.run();
  ASSERT_EQ(rig.policy.answers.size(), 1U);
  EXPECT_EQ(rig.policy.answers[0].outcome, Outcome::over_limit);
  for (const KeptNote& note : rig.recorder.of(NoteType::over_cap)) {
    EXPECT_FALSE(note.text.starts_with("infeasible: "));
  }
  EXPECT_EQ(rig.hardware.batch_size, 8);
}

TEST(Fallback, ABatchTooLargeInTheLowestModeIsMadeSmallerInTheTickThatShowsIt) {
  const auto decide = [](const PolicyContext&, const std::vector<Observation>& answers) {
    return answers.empty() ? measure(kSlow, 32) : hold(kSlow, 8);
  };
  LowRig rig(decide, seconds(60), 13'500);
  rig.hardware.sample_mw = 200;
  rig.world.attach(seconds(1));
  rig.run();
  const KeptNote next = first_setting_since(rig, rig.time_of(NoteType::over_cap));
  EXPECT_EQ(next.time, rig.time_of(NoteType::over_cap));
  EXPECT_EQ(next.setting.batch_size[index(Kind::train)], 8);
}

TEST(Fallback, ABatchOfATrainerThatComesWhilePowerIsOverTheCapIsMadeSmallerToo) {
  const auto decide = [](const PolicyContext&, const std::vector<Observation>&) {
    return hold(kSlow, 8);
  };
  LowRig rig(decide, seconds(60), 13'500);
  rig.hardware.sample_mw = 200;   // 16.4 W of 32 samples
  rig.hardware.extra_mw = 9'000;  // 14 W of others, until it has come
  rig.hardware.batch_size = 32;
  Workload large = trainer();
  large.batch_size = 32;
  rig.world.attach(seconds(1), large);
  rig.world.at(seconds(3), [&rig] { rig.hardware.extra_mw = 0; });
  rig.run();
  EXPECT_EQ(rig.hardware.batch_size, 8);
  EXPECT_EQ(rig.policy.starts, 1);
  const KeptNote next = first_setting_since(rig, rig.time_of(NoteType::attached));
  EXPECT_EQ(next.time, rig.time_of(NoteType::attached)) << "at once";
  EXPECT_EQ(next.setting.batch_size[index(Kind::train)], 8);
}

// A server alone, without a limit of latency, whose fastest setting answers 250 requests a second
// in batches of 4.
Setting held_for_least_energy(double per_s, const ListPolicy::Decide& decide,
                              bool beside_trainer = false) {
  Rig rig(decide, seconds(30));
  if (beside_trainer) rig.world.attach(std::chrono::milliseconds(500));
  rig.options.goal.objective = Objective::energy;
  Workload lone = server();
  lone.latency = {};
  rig.world.attach_server(seconds(1), per_s, lone);
  rig.run();
  EXPECT_FALSE(rig.recorder.of(NoteType::safe).empty()) << "the policy found no setting";
  return rig.world.published.setting;
}

TEST(Fallback, WhereNothingHasTimeToSpareForLeastEnergyTheFastestThatKeepsUpIsHeld) {
  const auto both = best_of({with_batch(measure(kSlow), 4), with_batch(measure(kFast), 4)});
  EXPECT_EQ(held_for_least_energy(220, both).mode, kFast) << "busy for 90 % of the time";
  EXPECT_EQ(held_for_least_energy(270, both).mode, kSlow) << "nothing keeps up";
  const auto nil = [](const PolicyContext&, const std::vector<Observation>& answers) {
    if (answers.empty()) return with_batch(measure(kFast), 4);
    return Request{Request::What::hold_safe, {}};
  };
  EXPECT_EQ(held_for_least_energy(60, nil).mode, kSlow) << "the policy would not have it";
}

TEST(Fallback, WhileTrainingWaitsTheFastestThatKeepsUpIsThatOfRequests) {
  std::vector<Request> asked = {with_batch(measure(kFast), 4), with_batch(measure(kMiddle), 16)};
  for (Request& request : asked) request.setting.run = Run::infer;
  const Setting held = held_for_least_energy(235, best_of(asked), true);
  EXPECT_EQ(held.mode, kMiddle) << "busy for 88 % of the time, and not for 94 %";
  EXPECT_EQ(held.run, Run::infer);
}

}  // namespace
}  // namespace gearshift
