#include "simulator/plant.h"

#include <gtest/gtest.h>

#include <cmath>

#include "simulator/simulated_board.h"
#include "tests/fakes/fake_board.h"

namespace gearshift {
namespace {

using fakes::mode;
using std::chrono::milliseconds;

struct PlantBench {
  explicit PlantBench(const Effects& effects = {}, bool both = false,
                      Sharing sharing = Sharing::turns) {
    profile.add({mode(1, 300000), 8, 60, 9, {}});
    profile.add({mode(1, 300000), 16, 100, 10, {}});
    profile.add({mode(4, 300000), 16, 50, 20, {}});
    std::vector<SimulatedTask> tasks = {task(Kind::train)};
    if (both) tasks.push_back(task(Kind::infer));
    plant.emplace(profile.knobs(), mode(1, 300000), tasks, effects, 7, sharing);
  }
  SimulatedTask task(Kind kind) const {
    return {.name = "net",
            .kind = kind,
            .batch_sizes = {8, 16},
            .batch_size = 16,
            .samples_per_epoch = 32,
            .costs = &costs};
  }
  void run(milliseconds until) {
    while (plant->now() < Time{} + until) plant->advance(Time{} + until, events);
  }
  std::vector<Minibatch> minibatches() const {
    std::vector<Minibatch> found;
    for (const Event& event : events) {
      if (event.type == EventType::minibatch) found.push_back(event.minibatch);
    }
    return found;
  }

  Profile profile{fakes::two_knobs()};
  ProfileCosts costs{seeded(profile), Missing::refuse};
  std::optional<Plant> plant;
  EventBuffer events;

 private:
  // ProfileCosts wants a cell before the constructor's body adds its own.
  static const Profile& seeded(Profile& profile) {
    profile.add({mode(2, 300000), 16, 75, 15, {}});
    return profile;
  }
};

TEST(Plant, AMinibatchTakesWhatItsCellSays) {
  PlantBench bench;
  bench.run(milliseconds(1000));
  const auto minibatches = bench.minibatches();
  ASSERT_EQ(minibatches.size(), 10U);
  EXPECT_EQ(minibatches[3].elapsed, milliseconds(100));
  EXPECT_EQ(minibatches[3].received, Time{} + milliseconds(400));
  EXPECT_EQ(minibatches[3].epoch, 1U);
  EXPECT_DOUBLE_EQ(bench.plant->true_power_w(), 10);
}

TEST(Plant, AMinibatchUnderWayGoesOnAtTheNewPace) {
  PlantBench bench;
  bench.run(milliseconds(40));
  bench.plant->write(0, 4);
  bench.run(milliseconds(200));
  // 40 of 100 ms are done; what is left takes half as long.
  EXPECT_EQ(bench.minibatches()[0].elapsed, milliseconds(70));
  EXPECT_EQ(bench.minibatches()[1].elapsed, milliseconds(50));
}

TEST(Plant, ABatchSizeComesIntoForceBehindTheBatchesUnderWay) {
  PlantBench bench;
  bench.run(milliseconds(50));
  bench.plant->command(1, {.sequence = 3, .batch_size = 8, .run = Run::both});
  bench.run(milliseconds(1000));
  const auto minibatches = bench.minibatches();
  EXPECT_EQ(minibatches[3].batch_size, 16);
  EXPECT_EQ(minibatches[4].batch_size, 8);
  EXPECT_EQ(minibatches[4].set_sequence, 3U);
  EXPECT_EQ(minibatches[4].elapsed, milliseconds(60));
}

TEST(Plant, ABatchSizeWithoutACellIsRefused) {
  PlantBench bench;
  bench.plant->write(0, 4);
  bench.plant->command(1, {.sequence = 1, .batch_size = 8, .run = Run::both});
  bench.run(milliseconds(500));
  ASSERT_EQ(bench.events[0].type, EventType::refused);
  EXPECT_EQ(bench.minibatches().back().batch_size, 16);
}

TEST(Plant, TwoWorkloadsTakeTurnsAndOneThatWaitsLeavesTheBoardToTheOther) {
  PlantBench bench({}, true);
  bench.run(milliseconds(400));
  EXPECT_EQ(bench.minibatches()[0].elapsed, milliseconds(200));
  bench.plant->command(2, {.sequence = 1, .batch_size = 16, .run = Run::train});
  bench.run(milliseconds(2000));
  const Minibatch last = bench.minibatches().back();
  EXPECT_EQ(last.kind, Kind::train);
  EXPECT_EQ(last.elapsed, milliseconds(100));
}

TEST(Plant, InterleavedWorkloadsTellPureTimesAndDrawTheHigherPower) {
  PlantBench bench({}, true, Sharing::interleaved);
  bench.plant->command(2, {1, 8, Run::both});  // 60 ms and 9 W beside 100 ms and 10 W
  bench.run(milliseconds(3000));
  EXPECT_DOUBLE_EQ(bench.plant->true_power_w(), 10);
  const auto minibatches = bench.minibatches();
  Time last[2] = {};
  ASSERT_GT(minibatches.size(), 20U);
  for (std::size_t i = minibatches.size() - 6; i < minibatches.size(); ++i) {
    const Minibatch& one = minibatches[i];
    EXPECT_EQ(one.elapsed, milliseconds(one.kind == Kind::train ? 100 : 60));
    Time& before = last[index(one.kind)];
    if (before != Time{}) {
      EXPECT_EQ(one.received - before, milliseconds(160));
    }
    before = one.received;
  }
}

TEST(Plant, JitterHasTheStatedMeanAndDeviation) {
  Effects effects;
  effects.jitter = 0.03;
  PlantBench bench(effects);
  bench.run(milliseconds(1'000'000));
  double sum = 0;
  double squares = 0;
  const auto minibatches = bench.minibatches();
  for (const Minibatch& minibatch : minibatches) {
    const double ms = seconds(minibatch.elapsed) * 1e3;
    sum += ms;
    squares += ms * ms;
  }
  const auto n = static_cast<double>(minibatches.size());
  const double mean = sum / n;
  EXPECT_NEAR(mean, 100, 0.15);
  EXPECT_NEAR(std::sqrt(squares / n - mean * mean) / mean, 0.03, 0.001);
}

TEST(Plant, TheSensorFollowsByItsLag) {
  PlantBench bench(parse_effects("lag"));
  bench.run(milliseconds(1000));
  bench.plant->write(0, 4);
  bench.run(milliseconds(1215));
  EXPECT_EQ(bench.plant->sensed_power_mw(), 15000);  // half of the 430 ms
  EXPECT_DOUBLE_EQ(bench.plant->true_power_w(), 20);
}

TEST(Plant, AQuantisedSensorShowsStepsAndTheTruthStaysExact) {
  PlantBench bench(parse_effects("quantised"));
  // 19.04 V less the drop in the line is shown as 19.032 V; 525.4 mA is shown as 520 mA.
  EXPECT_EQ(bench.plant->sensed_power_mw(), 9897);
  EXPECT_DOUBLE_EQ(bench.plant->true_power_w(), 10);
  bench.plant->write(0, 4);
  EXPECT_EQ(bench.plant->sensed_power_mw(), 20157) << "19.016 V and 1060 mA";
}

TEST(Plant, EnergyAndPowerOverTheCapAddUpExactly) {
  PlantBench bench;
  bench.plant->set_cap_mw(15'000);
  bench.run(milliseconds(1000));
  bench.plant->write(0, 4);
  bench.run(milliseconds(3000));
  const EnergyAccount account = bench.plant->account();
  EXPECT_NEAR(account.energy_j, 10 + 40, 1e-9);
  EXPECT_NEAR(account.over_cap_j, 10, 1e-9);
  EXPECT_NEAR(account.over_cap_s, 2, 1e-9);
}

TEST(Plant, BreachesAreCountedAndTheLongestIsTold) {
  PlantBench bench;
  bench.plant->set_cap_mw(15'000);
  bench.run(milliseconds(1000));
  EXPECT_EQ(bench.plant->account().breaches, 0U);
  milliseconds until(1000);
  for (const int over_ms : {300, 500, 200}) {
    bench.plant->write(0, 4);
    bench.plant->account();  // being asked at the moment it begins begins no other
    bench.run(until += milliseconds(over_ms));
    bench.plant->write(0, 1);
    bench.run(until += milliseconds(1000));
  }
  EXPECT_EQ(bench.plant->account().breaches, 3U);
  EXPECT_NEAR(bench.plant->account().longest_over_cap_s, 0.5, 1e-9);
}

TEST(Plant, ASensorWithAnIntervalRepeatsItsReadingWithTheTimeItWasTaken) {
  PlantBench bench;
  SimulatedSensor sensor(*bench.plant, milliseconds(430));
  std::vector<Reading> readings;
  const auto read_at = [&](int ms) {
    bench.run(milliseconds(ms));
    readings.clear();
    sensor.read(bench.plant->now(), readings);
    return readings.at(0);
  };
  EXPECT_EQ(read_at(100).value, 10'000);
  bench.plant->write(0, 4);
  EXPECT_EQ(read_at(429).value, 10'000);
  EXPECT_EQ(readings[0].taken, Time{} + milliseconds(100));
  EXPECT_EQ(read_at(430).value, 20'000);
  EXPECT_EQ(readings[0].taken, Time{} + milliseconds(430));
}

TEST(Plant, AFirstMinibatchTakesLongerAndMoreSoAtALowCpuClock) {
  Profile profile(
      KnobSpace{.knobs = {{"cpu_mhz", Unit::khz, KnobClass::clock, {500000, 1000000}}}});
  PowerMode low{.values = {500000}, .count = 1};
  PowerMode high{.values = {1000000}, .count = 1};
  profile.add({low, 16, 100, 10, {}});
  profile.add({high, 16, 50, 20, {}});
  const ProfileCosts costs(profile, Missing::refuse);
  const SimulatedTask task{.name = "net",
                           .kind = Kind::train,
                           .batch_sizes = {16},
                           .batch_size = 16,
                           .samples_per_epoch = 0,
                           .costs = &costs};
  for (const auto& [first, expected_ms] : {std::pair(low, 7100), std::pair(high, 3550)}) {
    Plant plant(profile.knobs(), first, {&task, 1}, parse_effects("first"), 1);
    EventBuffer events;
    plant.advance(Time{} + std::chrono::seconds(10), events);
    ASSERT_GE(events.size(), 2U);
    EXPECT_EQ(events[0].minibatch.elapsed, milliseconds(expected_ms));
    EXPECT_LE(events[1].minibatch.elapsed, milliseconds(100));
  }
}

TEST(Plant, CostsBecomeOthersInMidMinibatchAndComeBack) {
  Profile before(fakes::two_knobs());
  before.add({mode(4, 300000), 16, 100, 10, {}});
  Profile after(fakes::two_knobs());
  after.add({mode(4, 300000), 16, 200, 30, {}});
  const ProfileCosts first(before, Missing::refuse);
  const ProfileCosts second(after, Missing::refuse);
  const SimulatedTask task{
      .name = "net",
      .kind = Kind::train,
      .batch_sizes = {16},
      .batch_size = 16,
      .samples_per_epoch = 0,
      .costs = &first,
      .changes = {{Time{} + milliseconds(350), Time{} + milliseconds(600), &second}}};
  Plant plant(before.knobs(), mode(4, 300000), {&task, 1}, {}, 1);
  EventBuffer events;
  plant.advance(Time{} + milliseconds(500), events);
  EXPECT_EQ(plant.true_power_w(), 30);
  plant.advance(Time{} + milliseconds(1000), events);
  EXPECT_EQ(plant.true_power_w(), 10);
  ASSERT_GE(events.size(), 6U);
  EXPECT_EQ(events[2].minibatch.elapsed, milliseconds(100));
  EXPECT_EQ(events[3].minibatch.elapsed, milliseconds(150)) << "half of it at the new pace";
  // From 450 to 600 ms is three quarters of one; the last goes at the old pace again.
  EXPECT_EQ(events[4].minibatch.elapsed, milliseconds(175));
  EXPECT_EQ(events[5].minibatch.elapsed, milliseconds(100));
}

}  // namespace
}  // namespace gearshift
