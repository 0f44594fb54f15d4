#include <gtest/gtest.h>

#include "simulator/plant.h"
#include "tests/fakes/fake_board.h"
#include "tests/simulator/trainer_and_server.h"

namespace gearshift {
namespace {

using fakes::mode;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Training minibatches of 100 ms at 10 W; inference of 20 ms at 20 W a batch of 4, of 8 ms at 16 W
// one of 1.
struct Bench {
  explicit Bench(const ArrivalSpec& arrivals, milliseconds latency = seconds(1),
                 const Effects& effects = {}) {
    trains.add({mode(1, 300000), 16, 100, 10, {}});
    trains.add({mode(4, 300000), 16, 50, 20, {}});
    infers.add({mode(1, 300000), 1, 8, 16, {}});
    infers.add({mode(1, 300000), 4, 20, 20, {}});
    infers.add({mode(4, 300000), 4, 10, 30, {}});
    train_costs.emplace(trains, Missing::refuse);
    infer_costs.emplace(infers, Missing::refuse);
    const auto tasks = trainer_and_server(*train_costs, *infer_costs, arrivals, latency);
    plant.emplace(trains.knobs(), mode(1, 300000), tasks, effects, 7);
  }
  void run(milliseconds until) {
    while (plant->now() < Time{} + until) plant->advance(Time{} + until, events);
  }
  std::vector<Minibatch> minibatches(Kind kind) const {
    std::vector<Minibatch> found;
    for (const Event& event : events) {
      if (event.type == EventType::minibatch && event.minibatch.kind == kind) {
        found.push_back(event.minibatch);
      }
    }
    return found;
  }
  std::vector<RequestReport> reports() const {
    std::vector<RequestReport> found;
    for (const Event& event : events) {
      if (event.type == EventType::requests) found.push_back(event.requests);
    }
    return found;
  }

  Profile trains{fakes::two_knobs()};
  Profile infers{fakes::two_knobs()};
  std::optional<ProfileCosts> train_costs;
  std::optional<ProfileCosts> infer_costs;
  std::optional<Plant> plant;
  EventBuffer events;
};

TEST(PlantRequests, MinibatchesTellTheirOwnTimesAlone) {
  Bench bench({.rate_per_s = 40});
  bench.run(seconds(10));
  for (const Minibatch& minibatch : bench.minibatches(Kind::train)) {
    EXPECT_EQ(minibatch.elapsed, milliseconds(100));
  }
  const auto inferred = bench.minibatches(Kind::infer);
  ASSERT_GT(inferred.size(), 50U);
  for (const Minibatch& minibatch : inferred) {
    if (minibatch.batch_size == 4) {
      EXPECT_EQ(minibatch.elapsed, milliseconds(20));
    }
  }
  // 10 inference minibatches of 20 ms a second leave training 0.8 of it.
  EXPECT_NEAR(static_cast<double>(bench.minibatches(Kind::train).size()), 80, 4);
}

TEST(PlantRequests, FewerRequestsThanABatchTakeWhatTheLineBetweenTwoSizesSays) {
  Bench bench({.rate_per_s = 2}, milliseconds(800));
  bench.run(seconds(60));
  bool seen = false;
  for (const Minibatch& minibatch : bench.minibatches(Kind::infer)) {
    if (minibatch.batch_size == 1) {
      EXPECT_EQ(minibatch.elapsed, milliseconds(8));
    }
    if (minibatch.batch_size == 2) {
      EXPECT_EQ(minibatch.elapsed, milliseconds(12));
    }
    seen = seen || minibatch.batch_size == 2;
  }
  EXPECT_TRUE(seen);
}

TEST(PlantRequests, TheirReportsCountEachRequestOnce) {
  Bench bench({.rate_per_s = 40});
  bench.run(milliseconds(20'100));
  const auto reports = bench.reports();
  ASSERT_EQ(reports.size(), 40U);
  std::uint64_t arrived = 0;
  std::uint64_t ended = 0;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    EXPECT_EQ(reports[i].sequence, i + 1);
    EXPECT_EQ(reports[i].span, milliseconds(500));
    EXPECT_EQ(reports[i].late, 0U);
    EXPECT_LE(reports[i].latency_p50, reports[i].latency_p99);
    EXPECT_LE(reports[i].latency_max, milliseconds(900));
    arrived += reports[i].arrived;
    ended += reports[i].served;
  }
  EXPECT_NEAR(static_cast<double>(arrived), 800, 90);
  // The four of a minibatch under way neither wait nor are answered yet.
  EXPECT_LE(arrived - ended - reports.back().queued, 4U);
}

TEST(PlantRequests, LateOnesAreToldWithinATenthOfASecondAndSilenceOnce) {
  ArrivalSpec arrivals{.rate_per_s = 400};
  arrivals.bursts = {{0, Time{} + seconds(5), seconds(20)}};
  Bench bench(arrivals, milliseconds(500));
  bench.run(seconds(20));
  const auto reports = bench.reports();
  std::size_t late = 0;
  std::size_t slow = 0;  // the first, whose late requests were met when it was due anyway
  for (const RequestReport& report : reports) {
    if (report.late == 0) continue;
    ++late;
    EXPECT_GE(report.late, report.refused);
    if (report.span > milliseconds(200)) ++slow;
  }
  EXPECT_GT(late, 20U);
  EXPECT_LE(slow, 1U);
  EXPECT_LT(reports.back().received, Time{} + seconds(7));
  EXPECT_EQ(reports.back().arrived + reports.back().served + reports.back().queued, 0U);
  const RequestFigures figures = *bench.plant->requests();
  EXPECT_EQ(figures.arrived, figures.ended());
  EXPECT_GT(figures.late, figures.arrived / 3);
}

TEST(PlantRequests, PowerIsThatOfWhatRunsAndTheSensorShowsItsMean) {
  Bench bench({.rate_per_s = 40});
  double sum = 0;
  for (int tick = 1; tick <= 1000; ++tick) {
    bench.run(milliseconds(100 * tick));
    const auto reading = static_cast<double>(bench.plant->sensed_power_mw());
    EXPECT_GE(reading, 10'000);
    EXPECT_LE(reading, 20'000);
    sum += reading;
  }
  // A fifth of the time, or a little more for batches that are not full, is inference's.
  EXPECT_NEAR(sum / 1000, 12'000, 150);
  EXPECT_NEAR(bench.plant->account().energy_j, sum / 1e4, 1);
}

// One request at a time: 16 W, where a whole batch takes 20.
TEST(PlantRequests, ASensorOfRailsShowsWhatThoseDrawThatThereAre) {
  Effects effects;
  effects.quantised = true;
  Bench bench({.rate_per_s = 60}, milliseconds(30), effects);
  double sum = 0;
  for (int tick = 1; tick <= 1000; ++tick) {
    bench.run(milliseconds(100 * tick));
    sum += static_cast<double>(bench.plant->sensed_power_mw());
  }
  EXPECT_NEAR(sum / 1000, 10 * bench.plant->account().energy_j, 300);
}

TEST(PlantRequests, TheMeanOfAWindowIsHeldAgainstTheCap) {
  Bench bench({.rate_per_s = 40});
  bench.plant->set_cap_mw(15'000);
  bench.run(seconds(20));
  EXPECT_EQ(bench.plant->account().over_cap_s, 0);
  bench.plant->set_cap_mw(9'000);
  bench.run(seconds(40));
  EXPECT_NEAR(bench.plant->account().over_cap_s, 20, 0.6);
}

TEST(PlantRequests, WhatWasDrawnBeforeTheCapFellIsHeldAgainstTheCapOfThen) {
  for (const std::int64_t ms : {20'050, 20'150, 20'250, 20'350, 20'430}) {
    Bench bench({.rate_per_s = 40});
    bench.plant->write(0, 4);  // 20 and 30 W
    bench.plant->set_cap_mw(40'000);
    bench.run(milliseconds(ms));
    bench.plant->write(0, 1);  // 10 and 20 W, in the tick in which the cap falls
    bench.plant->set_cap_mw(15'000);
    bench.run(seconds(40));
    EXPECT_EQ(bench.plant->account().over_cap_s, 0) << ms;
  }
}

TEST(PlantRequests, AWindowThatIsCutShortIsNoBreachForTheMinibatchThatItHappensToHold) {
  for (int ms = 20'000; ms < 20'430; ms += 10) {
    Bench bench({.rate_per_s = 40});  // some 12 W on average, 20 W while a batch is served
    bench.plant->set_cap_mw(16'000);
    bench.run(milliseconds(ms));
    bench.plant->set_cap_mw(16'100);
    bench.run(milliseconds(ms + 15));
    bench.plant->set_cap_mw(16'000);
    EXPECT_EQ(bench.plant->account().over_cap_s, 0) << ms;
  }
}

TEST(PlantRequests, WhatIsOverTheCapCountsUpToTheCapThatFollowsAndToTheEnd) {
  Bench bench({.rate_per_s = 40});
  bench.plant->set_cap_mw(9'000);
  bench.run(milliseconds(20'200));
  bench.plant->set_cap_mw(30'000);
  EXPECT_NEAR(bench.plant->account().over_cap_s, 20.2, 1e-9);
  bench.run(milliseconds(25'000));
  bench.plant->set_cap_mw(9'000);
  bench.run(milliseconds(25'200));
  EXPECT_NEAR(bench.plant->account().over_cap_s, 20.4, 1e-9);
  EXPECT_EQ(bench.plant->account().breaches, 2U);
}

TEST(PlantRequests, ACommandIsFollowedByTheNextMinibatch) {
  Bench bench({.rate_per_s = 40});
  bench.run(milliseconds(1000));
  bench.events.clear();
  bench.plant->command(1, {.sequence = 5, .batch_size = 16, .run = Run::infer});
  bench.plant->command(2, {.sequence = 6, .batch_size = 1, .run = Run::infer});
  bench.run(milliseconds(3000));
  EXPECT_LE(bench.minibatches(Kind::train).size(), 1U);
  for (const Minibatch& minibatch : bench.minibatches(Kind::infer)) {
    if (minibatch.set_sequence == 6) {
      EXPECT_EQ(minibatch.batch_size, 1);
    }
  }
  EXPECT_EQ(bench.reports().back().set_sequence, 6U);
  bench.events.clear();
  bench.plant->command(1, {.sequence = 7, .batch_size = 16, .run = Run::train});
  bench.plant->command(2, {.sequence = 8, .batch_size = 1, .run = Run::train});
  bench.run(milliseconds(5000));
  EXPECT_LE(bench.minibatches(Kind::infer).size(), 1U);
  EXPECT_NEAR(static_cast<double>(bench.minibatches(Kind::train).size()), 20, 1);
}

TEST(PlantRequests, AMinibatchUnderWayGoesOnAtTheNewPace) {
  Bench bench({.rate_per_s = 0});
  bench.run(milliseconds(40));
  bench.plant->write(0, 4);
  bench.run(milliseconds(200));
  EXPECT_EQ(bench.minibatches(Kind::train)[0].elapsed, milliseconds(70));
  EXPECT_EQ(bench.minibatches(Kind::train)[1].elapsed, milliseconds(50));
}

TEST(PlantRequests, EqualSeedsGiveEqualRuns) {
  Effects effects;
  effects.jitter = 0.03;
  Bench one({.rate_per_s = 40}, seconds(1), effects);
  Bench two({.rate_per_s = 40}, seconds(1), effects);
  one.run(seconds(5));
  for (int tick = 1; tick <= 50; ++tick) two.run(milliseconds(100 * tick));
  ASSERT_EQ(one.events.size(), two.events.size());
  for (std::size_t i = 0; i < one.events.size(); ++i) {
    EXPECT_EQ(one.events[i].minibatch.received, two.events[i].minibatch.received);
    EXPECT_EQ(one.events[i].requests.latency_p99, two.events[i].requests.latency_p99);
  }
}

}  // namespace
}  // namespace gearshift
