#include "trace/policy_comparison.h"

#include <gtest/gtest.h>

#include "tests/trace/recorded_run.h"
#include "trace/recording_text.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

std::vector<ComparedSearch> compare(const RecordedRun& run, const ListPolicy::Decide& decide) {
  RecordingReader reader(run.file);
  Replay replay(reader);
  ListPolicy recorded(search_four);
  ListPolicy other(decide);
  ComparedPolicy compared(recorded, other, replay, reader.observations());
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

}  // namespace
}  // namespace gearshift
