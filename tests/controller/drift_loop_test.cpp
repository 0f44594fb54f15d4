// The change-point test in the loop: what is noticed, and what the search that follows knows.
#include <gtest/gtest.h>

#include <vector>

#include "tests/fakes/rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

// Measures the list, then holds the fastest of the answers.
ListPolicy::Decide fastest_of(const std::vector<PowerMode>& modes) {
  return [modes](const PolicyContext& context, const std::vector<Observation>& answers) -> Request {
    if (answers.size() < modes.size()) return measure(modes[answers.size()]);
    const Observation* best = nullptr;
    for (const Observation& answer : answers) {
      if (!answer.within(context.goal.power_mw.value_or(0))) continue;
      if (best == nullptr || answer.sample_s(Kind::train) < best->sample_s(Kind::train)) {
        best = &answer;
      }
    }
    Request request;
    if (best == nullptr) return request;
    request.what = Request::What::hold;
    request.setting = best->setting;
    return request;
  };
}

TEST(DriftInTheLoop, AChangeWhileASettingIsHeldIsNoticedAndEverythingMeasuredAnew) {
  Rig rig(fastest_of({kSlow, kMiddle, kFast}), seconds(90));
  rig.world.attach(seconds(1));
  rig.world.at(seconds(45), [&rig] { rig.world.slower = 1.25; });
  rig.run();

  const auto drifts = rig.recorder.of(NoteType::drift);
  ASSERT_EQ(drifts.size(), 1U);
  EXPECT_EQ(rig.summary.drifts, 1U);
  EXPECT_EQ(drifts[0].setting.mode, kFast);
  EXPECT_NE(drifts[0].text.find("train minibatch time 50 ms, expected 40 ms (+25.0 %)"),
            std::string::npos)
      << drifts[0].text;
  // In the third measurement that the change had to do with.
  EXPECT_GE(drifts[0].time, Time{} + seconds(45));
  EXPECT_LE(drifts[0].time, Time{} + seconds(55));
  EXPECT_EQ(rig.policy.starts, 2);
  const auto observations = rig.recorder.of(NoteType::observation);
  ASSERT_EQ(observations.size(), 6U) << "repeats are not recorded, the new search is";
  for (std::size_t i = 3; i < 6; ++i) EXPECT_FALSE(observations[i].observation->from_memory);
  EXPECT_EQ(rig.summary.choices.back().observation->cost[0].minibatch_mean,
            std::chrono::milliseconds(50));
  EXPECT_EQ(rig.world.published.drifts, 1U);
  EXPECT_GT(rig.world.published.repeats, 10U);
  EXPECT_EQ(rig.world.published.measurements, 6U);
}

TEST(DriftInTheLoop, RemeasuringIsEnough) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>& answers) {
    return request(Request::What::remeasure, answers.size() % 2 == 0 ? kFast : kMiddle);
  });
  rig.world.attach(seconds(1));
  rig.world.at(seconds(30), [&rig] { rig.hardware.extra_mw = 8000; });
  rig.run();
  ASSERT_EQ(rig.summary.drifts, 1U);
  EXPECT_EQ(rig.policy.starts, 2);
}

TEST(DriftInTheLoop, AnUnchangedWorldIsSearchedOnce) {
  Rig rig(fastest_of({kSlow, kMiddle, kFast}), std::chrono::hours(1));
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_EQ(rig.summary.drifts, 0U);
  EXPECT_EQ(rig.policy.starts, 1);
  EXPECT_EQ(rig.recorder.of(NoteType::observation).size(), 3U);
  EXPECT_GT(rig.world.published.repeats, 1000U);
}

TEST(DriftInTheLoop, AStallWhileASettingIsHeldIsNoChange) {
  Rig rig(fastest_of({kSlow, kFast}), seconds(200));
  rig.world.attach(seconds(1));
  rig.world.at(seconds(60), [&rig] { rig.world.stalled = true; });
  rig.world.at(seconds(150), [&rig] { rig.world.stalled = false; });
  rig.run();
  EXPECT_EQ(rig.summary.drifts, 0U);
  EXPECT_EQ(rig.recorder.of(NoteType::observation).size(), 2U);
}

// What is held goes over the cap first, so the guard acts; what it falls back to tells the rest.
TEST(DriftInTheLoop, AChangeThatTheGuardMeetsFirstIsNoticedInWhatItFallsBackTo) {
  Rig rig(fastest_of({kSlow, kMiddle, kFast}), seconds(90), 25500);
  rig.hardware.values = {1, 300000};
  rig.world.attach(seconds(1));
  rig.world.at(seconds(45), [&rig] { rig.hardware.extra_mw = 8000; });
  rig.run();
  EXPECT_EQ(rig.summary.guard_steps, 2U) << "each of the two searches tried the fastest";
  const auto drifts = rig.recorder.of(NoteType::drift);
  ASSERT_EQ(drifts.size(), 1U);
  EXPECT_EQ(drifts[0].setting.mode, kMiddle);
  EXPECT_EQ(rig.recorder.of(NoteType::hold).back().setting.mode, kMiddle) << "25 W there now";
  EXPECT_EQ(rig.policy.starts, 2) << "it never went on among answers of the world before";
}

// Power of everything that is known goes over the cap: the cuts themselves are the evidence.
TEST(DriftInTheLoop, AChangeThatTakesAllThatIsKnownOverTheCapIsNoticed) {
  Rig rig(fastest_of({kMiddle, kFast}), seconds(90), 25500);
  rig.hardware.values = {1, 300000};
  rig.world.attach(seconds(1));
  rig.world.at(seconds(45), [&rig] { rig.hardware.extra_mw = 14'000; });
  rig.run();
  ASSERT_EQ(rig.recorder.of(NoteType::drift).size(), 1U);
  EXPECT_EQ(rig.policy.starts, 2);
}

// A lighter network under the same name, whose power is soon a little more.
TEST(DriftInTheLoop, TheTimesOfACutMeasurementAreEvidenceToo) {
  Rig rig(fastest_of({kSlow, kMiddle}), seconds(90), 18'000);
  rig.hardware.values = {1, 300000};
  rig.world.attach(seconds(1));
  rig.world.at(seconds(44), [&rig] { rig.world.slower = 0.6; });
  rig.world.at(std::chrono::milliseconds(44'600), [&rig] { rig.hardware.extra_mw = 1200; });
  rig.run();
  ASSERT_EQ(rig.summary.drifts, 1U);
  // The first measurement behind the cut; without its times it took the second, at 48.9 s.
  EXPECT_LE(rig.recorder.of(NoteType::drift)[0].time, Time{} + seconds(47));
}

// One window over the cap, far over what the setting takes: what the board steps down to is
// measured, agrees with what it took, and the policy goes on with all that it knows.
TEST(DriftInTheLoop, ASpikeOfPowerIsNoChange) {
  Rig rig(fastest_of({kSlow, kMiddle, kFast}), seconds(90), 25500);
  rig.hardware.values = {1, 300000};
  rig.world.attach(seconds(1));
  rig.world.at(seconds(45), [&rig] { rig.hardware.extra_mw = 20'000; });
  rig.world.at(std::chrono::milliseconds(45'600), [&rig] { rig.hardware.extra_mw = 0; });
  rig.run();
  EXPECT_EQ(rig.summary.drifts, 0U);
  EXPECT_EQ(rig.summary.guard_steps, 1U);
  EXPECT_EQ(rig.policy.starts, 2);
  EXPECT_EQ(rig.recorder.of(NoteType::observation).size(), 3U) << "and the cut is none";
  EXPECT_EQ(rig.recorder.of(NoteType::hold).back().setting.mode, kFast) << "which still fits";
}

// A spike makes the test suspect a change, and a sensor that fails ends in the safe setting, which
// nobody has measured. `slower`: than before, from when power is not known.
void suspect_and_lose_power(Rig& rig, double slower) {
  rig.hardware.values = {1, 300000};
  rig.world.attach(seconds(1));
  rig.world.at(seconds(45), [&rig] { rig.hardware.extra_mw = 20'000; });
  rig.world.at(std::chrono::milliseconds(45'600), [&rig] { rig.hardware.extra_mw = 0; });
  rig.world.at(std::chrono::milliseconds(46'500), [&rig, slower] {
    rig.hardware.reading_state = ReadingState::missing;
    rig.world.slower = slower;
  });
  rig.world.at(seconds(50), [&rig] { rig.hardware.reading_state = ReadingState::ok; });
  rig.run();
}

TEST(DriftInTheLoop, ASuspicionIsProvedOnTheBestKnownSettingWhereNothingIsKnownOfTheSafeOne) {
  Rig rig(fastest_of({kMiddle, kFast}), seconds(120), 25500);
  suspect_and_lose_power(rig, 1.5);
  const auto drifts = rig.recorder.of(NoteType::drift);
  ASSERT_EQ(drifts.size(), 1U);
  EXPECT_EQ(drifts[0].setting.mode, kMiddle);
  EXPECT_EQ(rig.policy.starts, 2) << "it never went on among answers of the world before";
}

TEST(DriftInTheLoop, ASuspicionThatTheBestKnownSettingDispelsCostsTheSearchNothing) {
  Rig rig(fastest_of({kMiddle, kFast}), seconds(120), 25500);
  suspect_and_lose_power(rig, 1);
  EXPECT_EQ(rig.summary.drifts, 0U);
  EXPECT_EQ(rig.policy.starts, 2);
  EXPECT_EQ(rig.recorder.of(NoteType::observation).size(), 2U) << "and the cut is none";
  const auto hold = rig.recorder.of(NoteType::hold).back();
  EXPECT_EQ(hold.setting.mode, kFast);
  EXPECT_GE(hold.time, Time{} + seconds(52)) << "not before the other one was measured";
}

TEST(DriftInTheLoop, AChangeIsNoticedWhileTheSafeSettingStandsInForAChoice) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return Request{}; },
          seconds(90));
  rig.world.attach(seconds(1));
  rig.world.at(seconds(60), [&rig] { rig.world.slower = 0.7; });
  rig.run();
  EXPECT_EQ(rig.summary.drifts, 1U);
  EXPECT_EQ(rig.policy.starts, 2);
  EXPECT_EQ(rig.recorder.of(NoteType::observation).size(), 1U) << "the repeat that showed it";
}

TEST(DriftInTheLoop, AnotherWorkloadIsMeasuredAgainstItself) {
  Rig rig(fastest_of({kSlow, kFast}), seconds(120));
  rig.world.attach(seconds(1));
  rig.world.detach(seconds(50));
  rig.world.at(seconds(50), [&rig] { rig.world.slower = 2; });
  rig.world.attach(seconds(60), trainer(2, "mobilenet"));
  rig.run();
  EXPECT_EQ(rig.summary.drifts, 0U);
}

// What the policy is told is known, each time it starts.
ListPolicy::Decide telling(std::vector<std::vector<Observation>>& told, ListPolicy::Decide decide) {
  return [&told, decide](const PolicyContext& context, const std::vector<Observation>& answers) {
    if (answers.empty())
      told.emplace_back(context.observations.begin(), context.observations.end());
    return decide(context, answers);
  };
}

// The setting in force need not be left to be measured: the repeat that showed the change has.
TEST(DriftInTheLoop, TheRepeatThatShowsAChangeIsAllThatTheNewSearchKnows) {
  std::vector<std::vector<Observation>> told;
  Rig rig(telling(told,
                  [](const PolicyContext& context, const std::vector<Observation>& answers) {
                    const bool known = !context.observations.empty() || !answers.empty();
                    return known ? hold(kFast) : measure(kFast);
                  }),
          seconds(90), 25500);
  rig.world.attach(seconds(1));
  rig.world.at(seconds(45), [&rig] { rig.world.slower = 1.25; });
  rig.run();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_TRUE(told[0].empty());
  ASSERT_EQ(told[1].size(), 1U);
  const Observation& known = told[1][0];
  EXPECT_EQ(known.setting.mode, kFast);
  EXPECT_TRUE(known.within(25500));
  EXPECT_EQ(known.limit_mw, 25500);
  EXPECT_EQ(known.cost[0].minibatch_mean, std::chrono::milliseconds(50));
  EXPECT_GE(known.duration, seconds(1));
  EXPECT_LE(known.duration, seconds(3)) << "of the repeat, not of the whole hold";

  // Behind the drift, so that who forgets at that note does not forget it too.
  ASSERT_EQ(rig.recorder.of(NoteType::observation).size(), 2U);
  EXPECT_EQ(rig.summary.measurements, 2U);
  const Time noticed = rig.time_of(NoteType::drift);
  EXPECT_EQ(rig.time_of(NoteType::observation, 1), noticed);
  std::vector<NoteType> order;
  for (const auto& note : rig.recorder.notes) {
    if (note.time == noticed) order.push_back(note.type);
  }
  ASSERT_GE(order.size(), 2U);
  EXPECT_EQ(order[0], NoteType::drift);
  EXPECT_EQ(order[1], NoteType::observation);
  EXPECT_EQ(rig.summary.choices.back().observation->cost[0].minibatch_mean,
            std::chrono::milliseconds(50));
}

TEST(DriftInTheLoop, SoIsARepeatThatAPolicyAskedFor) {
  std::vector<std::vector<Observation>> told;
  Rig rig(telling(told, [](const PolicyContext&, const std::vector<Observation>&) {
    return request(Request::What::remeasure, kFast);
  }));
  rig.world.attach(seconds(1));
  rig.world.at(seconds(30), [&rig] { rig.world.slower = 1.25; });
  rig.run();
  ASSERT_EQ(told.size(), 2U);
  ASSERT_EQ(told[1].size(), 1U);
  EXPECT_EQ(told[1][0].cost[0].minibatch_mean, std::chrono::milliseconds(50));
}

TEST(DriftInTheLoop, SoIsARepeatOfWhatTheGuardSteppedDownTo) {
  std::vector<std::vector<Observation>> told;
  Rig rig(telling(told, fastest_of({kSlow, kMiddle, kFast})), seconds(90), 25500);
  rig.hardware.values = {1, 300000};
  rig.world.attach(seconds(1));
  rig.world.at(seconds(45), [&rig] { rig.hardware.extra_mw = 8000; });
  rig.run();
  ASSERT_EQ(told.size(), 2U);
  ASSERT_EQ(told[1].size(), 1U);
  EXPECT_EQ(told[1][0].setting.mode, kMiddle);
  EXPECT_EQ(told[1][0].power_mean_mw, 25'000);
  EXPECT_EQ(told[1][0].limit_mw, 25500);
  EXPECT_GT(told[1][0].duration, Duration::zero());
}

// A cut says that the setting draws too much, not what it costs.
TEST(DriftInTheLoop, ACutThatShowsAChangeIsForgottenToo) {
  std::vector<std::vector<Observation>> told;
  Rig rig(telling(told, fastest_of({kMiddle, kFast})), seconds(90), 25500);
  rig.hardware.values = {1, 300000};
  rig.world.attach(seconds(1));
  rig.world.at(seconds(45), [&rig] { rig.hardware.extra_mw = 14'000; });
  rig.run();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_TRUE(told[1].empty());
}

}  // namespace
}  // namespace gearshift
