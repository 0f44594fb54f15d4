#include "controller/second_chance.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "controller/controller.h"
#include "tests/fakes/serving_rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(SecondChance, IsDueLaterEachTime) {
  SecondChance chance;
  EXPECT_FALSE(chance.due(Time{} + minutes(1000)));
  Time now{};
  for (const int wait : {1, 2, 4, 8, 16, 32, 60, 60}) {
    chance.arm(now);
    EXPECT_FALSE(chance.due(now + minutes(wait) - milliseconds(1))) << wait;
    now += minutes(wait);
    EXPECT_TRUE(chance.due(now)) << wait;
  }
  chance.disarm();
  EXPECT_FALSE(chance.due(now + minutes(1000)));
  chance.reset();
  chance.arm(now);
  EXPECT_TRUE(chance.due(now + minutes(1)));
}

TEST(SecondChance, IsDueAfterAMinuteAgainWhereWhatWasFoundHadLasted) {
  SecondChance chance;
  Time now{};
  for (int times = 0; times < 3; ++times) chance.arm(now);
  chance.found(now);
  now += minutes(8);
  chance.arm(now);
  EXPECT_FALSE(chance.due(now + minutes(8) - milliseconds(1))) << "no longer than it had to wait";
  chance.found(now);
  chance.found(now + minutes(16));
  now += minutes(16) + milliseconds(1);
  chance.arm(now);
  EXPECT_TRUE(chance.due(now + minutes(1)));
}

std::vector<Time> searches_made_again(const Rig& rig) {
  std::vector<Time> times;
  for (const KeptNote& note : rig.recorder.of(NoteType::late)) {
    if (note.text.find("made again") != std::string::npos) times.push_back(note.time);
  }
  return times;
}

// Until `stall` is over the machine stands still for a moment every second.
struct Stalled : ServingRig {
  Stalled(Duration stall, Duration end)
      : ServingRig(best_of({with_batch(measure(kMiddle), 4), with_batch(measure(kFast), 4)}), end) {
    FakeServer& server = world.attach_server(milliseconds(0), 60);
    for (Duration at{}; at < stall; at += seconds(1)) {
      world.at(at, [&server] { server.late_ms = 400; });
      world.at(at + milliseconds(200), [&server] { server.late_ms = 0; });
    }
    run();
  }
};

TEST(SecondChance, ASearchThatFellIntoAStallIsMadeAgain) {
  const Stalled rig(seconds(30), minutes(5));
  const Time gave_up = rig.time_of(NoteType::safe);
  ASSERT_EQ(searches_made_again(rig), std::vector{gave_up + minutes(1)});
  const KeptNote last = rig.recorder.of(NoteType::hold).back();
  EXPECT_GT(last.time, gave_up + minutes(1));
  EXPECT_EQ(last.setting.mode, kFast);
  EXPECT_EQ(last.setting.run, Run::both);
}

TEST(SecondChance, ASearchThatFindsNothingIsMadeSeldom) {
  const Stalled rig(minutes(10), minutes(10));
  const std::vector<Time> times = searches_made_again(rig);
  ASSERT_EQ(times.size(), 3U);  // after a minute, two and four, and what the searches take
  EXPECT_GE(times[1] - times[0], minutes(2));
  EXPECT_GE(times[2] - times[1], minutes(4));
}

// In the slow mode what is held answers in time, and leaves no time to train.
TEST(SecondChance, ASearchWhoseChoiceTrainsNothingIsMadeAgain) {
  for (const PowerMode& mode : {kFast, kSlow}) {
    ServingRig rig(best_of({with_batch(measure(mode), 4)}), seconds(100));
    rig.world.attach_server(milliseconds(0), 40);
    rig.run();
    const auto holds = rig.recorder.of(NoteType::hold);
    ASSERT_FALSE(holds.empty());
    EXPECT_EQ(holds[0].setting.mode, mode);
    EXPECT_EQ(searches_made_again(rig).size(), mode == kFast ? 0U : 1U);
  }
}

// Another program draws 15 W until it ends in mid measurement: 17 W and a half of that.
TEST(SecondChance, AMeasurementThatAPassingLoadSpoiltIsMadeAgainAtOnce) {
  for (const int end_ms : {2'600, 2'800, 3'000}) {
    Rig rig(best_of({measure(kMiddle), measure(kFast)}), minutes(3), std::nullopt,
            {kSlow, kMiddle, kFast});
    rig.hardware.values = {1, 300000};
    rig.world.attach(seconds(1));
    rig.world.at(milliseconds(500), [&rig] { rig.hardware.extra_mw = 15'000; });
    rig.world.at(milliseconds(end_ms), [&rig] { rig.hardware.extra_mw = 0; });
    rig.world.cap(seconds(60), 18'000);
    rig.run();
    const auto observations = rig.recorder.of(NoteType::observation);
    ASSERT_FALSE(observations.empty());
    EXPECT_EQ(observations[0].observation->power_mean_mw, 17'000);
    EXPECT_EQ(rig.world.published.phase, Phase::holding);
    EXPECT_EQ(rig.world.published.setting.mode, kMiddle);
    EXPECT_EQ(rig.summary.measurements, 2U);
  }
}

// The process is stopped for a second, so many tenths after the faster setting has come into force.
TEST(SecondChance, AMeasurementInWhichOneMinibatchStalledIsMadeAgainAtOnce) {
  for (const int tenths : {14, 16, 18}) {
    Rig rig(best_of({measure(kMiddle), measure(kFast)}), minutes(1));
    rig.hardware.values = {1, 300000};
    rig.world.attach(seconds(1));
    int in_force = 0;
    for (int ms = 1'000; ms < 30'000; ms += 100) {
      rig.world.at(milliseconds(ms), [&rig, &in_force, tenths, ms] {
        in_force += rig.hardware.values[1] == 900'000 ? 1 : 0;
        if (in_force != tenths) return;
        Event event;
        event.type = EventType::minibatch;
        event.minibatch = {.workload = 1,
                           .batch_size = 16,
                           .elapsed = seconds(1),
                           .received = Time{} + milliseconds(ms)};
        rig.world.at(milliseconds(ms), event);
        ++in_force;
      });
    }
    rig.run();
    EXPECT_EQ(rig.world.published.setting.mode, kFast) << tenths;
    const auto observations = rig.recorder.of(NoteType::observation);
    ASSERT_EQ(observations.size(), 2U) << tenths;
    EXPECT_EQ(observations[1].observation->cost[0].minibatch_mean, milliseconds(40)) << tenths;
  }
}

// What varies by itself is no accident, and takes no longer than twice.
TEST(SecondChance, PowerThatVariesAllTheWhileIsMeasuredTwiceAtMost) {
  Rig rig(best_of({measure(kMiddle)}), seconds(40));
  rig.world.attach(seconds(1));
  for (int i = 0; i < 400; ++i) {
    rig.world.at(milliseconds(100) * i, [&rig, i] { rig.hardware.extra_mw = i / 5 % 2 * 15'000; });
  }
  rig.run();
  ASSERT_FALSE(rig.recorder.of(NoteType::observation).empty());
  const Observation first = *rig.recorder.of(NoteType::observation)[0].observation;
  EXPECT_GT(10 * first.power_margin_mw, 3 * first.power_mean_mw);
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
}

}  // namespace
}  // namespace gearshift
