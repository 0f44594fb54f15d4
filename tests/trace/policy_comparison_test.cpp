#include "trace/policy_comparison.h"

#include <gtest/gtest.h>

#include "tests/fakes/serving_rig.h"
#include "tests/trace/recorded_run.h"
#include "trace/recording_text.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

std::vector<ComparedSearch> compare(const RecordedRun& run, const ListPolicy::Decide& decide,
                                    const ListPolicy::Decide& as_recorded = search_four) {
  RecordingReader reader(run.file);
  Replay replay(reader);
  ListPolicy recorded(as_recorded);
  ListPolicy other(decide);
  RecordingReader answers(run.file);
  ComparedPolicy compared(recorded, other, replay, read_placed_observations(answers));
  const ReplayResult result = replay.run(compared);
  EXPECT_FALSE(result.difference) << result.difference->replayed;
  return compared.searches();
}

struct Compared : testing::Test {
  Compared() {
    run.world.attach(seconds(2));
    run.world.cap(seconds(40), 18000);
    run.schedule_limit = ScheduleLimit({});
    run.run();
  }
  RecordedRun run;
};

TEST_F(Compared, TheSamePolicyAsksTheSame) {
  const auto searches = compare(run, search_four);
  ASSERT_EQ(searches.size(), 2U);
  EXPECT_EQ(searches[0].goal.power_mw, 25000);
  EXPECT_EQ(searches[1].goal.power_mw, 18000);
  EXPECT_GE(searches[1].since_start, seconds(40));
  const KnobSpace space = two_knobs();
  for (const ComparedSearch& search : searches) {
    EXPECT_FALSE(search.other_unanswered);
    ASSERT_EQ(search.recorded.size(), 5U);
    ASSERT_EQ(search.other.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(exact_text(space, search.recorded[i]), exact_text(space, search.other[i]));
    }
  }
}

TEST_F(Compared, AnotherIsAnsweredWhereItWasMeasuredAndEndsWhereNot) {
  const auto searches =
      compare(run, [](const PolicyContext&, const std::vector<Observation>& seen) {
        if (seen.empty()) return measure(mode(4, 900000));
        EXPECT_TRUE(seen[0].ok());
        return seen.size() == 1 ? measure(mode(1, 300000)) : hold(mode(1, 300000));
      });
  ASSERT_EQ(searches.size(), 2U);
  EXPECT_TRUE(searches[0].other_unanswered);
  ASSERT_EQ(searches[0].other.size(), 2U);
  EXPECT_EQ(exact_text(two_knobs(), searches[0].other[1]),
            "measure cpu_cores=1 gpu_mhz=300 train_batch=16 run=train");
}

TEST_F(Compared, AFailureIsTold) {
  const auto searches = compare(run, [](const PolicyContext&, const std::vector<Observation>&) {
    return Request{Request::What::failed, {}};
  });
  EXPECT_EQ(searches.at(0).other_failure, "script.lua:7: failed on purpose");
}

TEST_F(Compared, AnotherThatAsksForKnownSettingsWithoutAnEndIsStopped) {
  const auto searches = compare(run, [](const PolicyContext&, const std::vector<Observation>&) {
    return measure(mode(4, 900000));
  });
  ASSERT_EQ(searches.size(), 2U);
  EXPECT_EQ(searches[0].other.size(), kMostCompared);
  EXPECT_TRUE(searches[0].other_stopped);
  EXPECT_FALSE(searches[0].other_unanswered);
  EXPECT_FALSE(compare(run, search_four)[0].other_stopped);
}

void expect_the_same(const std::vector<ComparedSearch>& searches) {
  const KnobSpace space = two_knobs();
  for (std::size_t n = 0; n < searches.size(); ++n) {
    const ComparedSearch& search = searches[n];
    ASSERT_EQ(search.recorded.size(), search.other.size()) << n;
    for (std::size_t i = 0; i < search.recorded.size(); ++i) {
      EXPECT_EQ(exact_text(space, search.recorded[i]), exact_text(space, search.other[i])) << n;
    }
  }
}

// By the newest measurement of each setting, whoever's it was, the first would have held another.
TEST(ComparedWorkloads, AreAnsweredByWhatWasMeasuredOfThem) {
  RecordedRun run;
  run.schedule_limit = ScheduleLimit({});
  run.world.attach(seconds(2));
  run.world.detach(seconds(40));
  run.world.attach(seconds(42), trainer(2, "mobilenet_v3"));
  run.world.at(seconds(42), [&run] { run.hardware.extra_mw = 7000; });
  run.run();
  const auto searches = compare(run, search_four);
  ASSERT_EQ(searches.size(), 2U);
  EXPECT_NE(exact_text(two_knobs(), searches[0].recorded.back()),
            exact_text(two_knobs(), searches[1].recorded.back()));
  expect_the_same(searches);
}

TEST(ComparedWorlds, AreNotMixedWhereTheWorldHasChanged) {
  RecordedRun run;
  run.schedule_limit = ScheduleLimit({});
  run.world.attach(seconds(2));
  run.world.at(seconds(30), [&run] { run.world.slower = 1.5; });
  run.run();
  RecordingReader reader(run.file);
  const std::vector<PlacedObservation> placed = read_placed_observations(reader);
  ASSERT_FALSE(placed.empty());
  EXPECT_EQ(placed.front().workloads, "train:resnet18 ");
  EXPECT_EQ(placed.front().world, 0U);
  EXPECT_EQ(placed.back().world, 1U);
  // Measures one setting and what the newest answer of it depends on: the first search must meet
  // the times of its own world.
  const auto searches = compare(run, [](const PolicyContext&,
                                        const std::vector<Observation>& seen) {
    if (seen.empty()) return measure(mode(4, 900000));
    return hold(seen[0].cost[0].minibatch_mean < std::chrono::milliseconds(50) ? mode(4, 900000)
                                                                               : mode(1, 300000));
  });
  ASSERT_EQ(searches.size(), 2U);
  EXPECT_EQ(exact_text(two_knobs(), searches[0].other.back()),
            "hold cpu_cores=4 gpu_mhz=900 train_batch=16 run=train");
  EXPECT_EQ(exact_text(two_knobs(), searches[1].other.back()),
            "hold cpu_cores=1 gpu_mhz=300 train_batch=16 run=train");
}

// Asks for batches of 16 requests, which are late, and then for what keeps the goal.
Request late_first(const PolicyContext& context, const std::vector<Observation>& answers) {
  std::vector<Request> asked = kThree;
  asked.insert(asked.begin() + 1, with_batch(measure(kSlow), 16));
  return best_of(asked)(context, answers);
}

// The same while more than 35 requests come a second.
Request late_first_when_busy(const PolicyContext& context,
                             const std::vector<Observation>& answers) {
  if (context.goal.arrivals_per_s > 35) return late_first(context, answers);
  return best_of(kThree)(context, answers);
}

TEST(ComparedLateness, AnswersWhereAsManyRequestsCome) {
  RecordedRun run;
  ScheduleLimit none({});
  run.second_limit = &none;
  run.header.options.goal.objective = Objective::throughput;
  run.header.options.meter.power_least = std::chrono::milliseconds(500);
  run.policy = ListPolicy(late_first_when_busy);
  run.world.attach(seconds(0));
  FakeServer& server = run.world.attach_server(seconds(0), 40);
  run.world.at(seconds(30), [&server] { server.per_s = 20; });
  run.run();
  ASSERT_EQ(run.failure, "");
  const auto searches = compare(run, late_first, late_first_when_busy);
  const KnobSpace space = two_knobs();
  std::size_t busy = 0;
  std::size_t calm = 0;
  for (const ComparedSearch& search : searches) {
    if (search.goal.arrivals_per_s > 35) {
      ++busy;
      EXPECT_FALSE(search.other_unanswered);
      EXPECT_EQ(search.other.size(), 5U);
    } else if (search.goal.arrivals_per_s > 0) {
      ++calm;
      EXPECT_TRUE(search.other_unanswered) << "fewer might be answered in time";
      EXPECT_EQ(search.other.size(), 2U);
    }
  }
  EXPECT_GT(busy, 0U);
  EXPECT_GT(calm, 0U);
}

TEST(ComparedFailures, OfAnotherProgramsWriteAnswerToo) {
  RecordedRun run;
  ScheduleLimit none({});
  run.second_limit = &none;
  run.world.attach(seconds(2));
  for (int i = 0; i < 40; ++i) {
    run.world.at(std::chrono::milliseconds(2500 + 200 * i), [&run] {
      if (run.kept.of(NoteType::observation).empty()) run.hardware.values[1] = 300000;
    });
  }
  run.run();
  RecordingReader reader(run.file);
  const std::vector<PlacedObservation> placed = read_placed_observations(reader);
  ASSERT_FALSE(placed.empty());
  ASSERT_EQ(outcome_name(placed[0].observation.outcome), "outside_writer");
  expect_the_same(compare(run, search_four));
}

}  // namespace
}  // namespace gearshift
