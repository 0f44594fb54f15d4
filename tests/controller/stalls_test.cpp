// Minibatches that stall: what they explain, how much of it is borne, and what the loop does.
#include "controller/stalls.h"

#include <gtest/gtest.h>

#include "controller/controller.h"
#include "controller/late_credit.h"
#include "tests/fakes/serving_rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kStallLimit = milliseconds(60);

Minibatch of(Duration elapsed, Duration ended, std::int32_t batch_size = 4) {
  Minibatch minibatch;
  minibatch.kind = Kind::infer;
  minibatch.batch_size = batch_size;
  minibatch.elapsed = elapsed;
  minibatch.received = Time{} + ended;
  return minibatch;
}

RequestReport report(Duration latency_max, Duration received = seconds(2)) {
  RequestReport report;
  report.span = milliseconds(500);
  report.received = Time{} + received;
  report.latency_max = latency_max;
  return report;
}

Stalls usual(std::size_t count = Stalls::kFewest) {
  Stalls stalls;
  for (std::size_t i = 0; i < count; ++i) stalls.add(of(milliseconds(10), seconds(1)));
  return stalls;
}

TEST(Stalls, AMinibatchOfMoreThanTwiceTheMedianHasStalled) {
  Stalls twice = usual();
  twice.add(of(milliseconds(20), seconds(2)));
  EXPECT_FALSE(twice.explain(report(milliseconds(61)), kStallLimit));
  Stalls more = usual();
  more.add(of(milliseconds(21), seconds(2)));
  EXPECT_TRUE(more.explain(report(milliseconds(61)), kStallLimit));
  Stalls few = usual(Stalls::kFewest - 1);
  few.add(of(milliseconds(50), seconds(2)));
  EXPECT_FALSE(few.explain(report(milliseconds(61)), kStallLimit)) << "nothing is usual yet";
  more.begin();
  EXPECT_FALSE(more.explain(report(milliseconds(61)), kStallLimit)) << "another setting";
}

TEST(Stalls, OfMoreSamplesALongerMinibatchIsUsual) {
  Stalls stalls = usual();
  stalls.add(of(milliseconds(80), seconds(2), 16));
  EXPECT_FALSE(stalls.explain(report(milliseconds(61)), kStallLimit));
  stalls.add(of(milliseconds(81), seconds(2), 16));
  EXPECT_TRUE(stalls.explain(report(milliseconds(61)), kStallLimit));
}

TEST(Stalls, ExplainNoMoreThanTheyTookLonger) {
  Stalls stalls = usual();
  stalls.add(of(milliseconds(40), seconds(2)));
  EXPECT_TRUE(stalls.explain(report(kStallLimit + milliseconds(30)), kStallLimit));
  EXPECT_FALSE(stalls.explain(report(kStallLimit + milliseconds(31)), kStallLimit));
  stalls.add(of(milliseconds(25), seconds(2)));
  EXPECT_TRUE(stalls.explain(report(kStallLimit + milliseconds(45)), kStallLimit))
      << "one behind the other";
}

TEST(Stalls, ExplainWhatMayHaveWaitedForThemAndNothingLater) {
  Stalls stalls = usual();
  stalls.add(of(milliseconds(40), seconds(2)));
  const Duration last = seconds(2) + milliseconds(500) + kStallLimit;
  EXPECT_TRUE(stalls.explain(report(milliseconds(80), last), kStallLimit));
  EXPECT_FALSE(stalls.explain(report(milliseconds(80), last + milliseconds(1)), kStallLimit));
}

TEST(StallCredit, BearsATenthOfASecondsRequestsAndOneInTwoHundredBesides) {
  Setting setting;
  setting.mode = kFast;
  StallCredit credit;
  credit.hold(setting);
  EXPECT_TRUE(credit.pays(10, 100));
  EXPECT_FALSE(credit.pays(1, 100));
  credit.answered(200, 100);
  credit.hold(setting);
  EXPECT_TRUE(credit.pays(0, 100)) << "it goes on";
  credit.answered(100'000, 100);
  EXPECT_TRUE(credit.pays(30, 100)) << "three tenths of a second's at most";
  EXPECT_FALSE(credit.pays(1, 100));
  setting.mode = kSlow;
  credit.hold(setting);
  EXPECT_TRUE(credit.pays(10, 100));
}

TEST(StallCredit, BearsTwoWhereRequestsAreFewAndThreeAtMost) {
  Setting setting;
  setting.mode = kFast;
  StallCredit credit;
  credit.hold(setting);
  EXPECT_TRUE(credit.pays(2, 3));
  EXPECT_FALSE(credit.pays(1, 3));
  credit.answered(100'000, 3);
  EXPECT_TRUE(credit.pays(3, 3));
  EXPECT_FALSE(credit.pays(1, 3));
}

Workload single(Duration limit) {
  Workload workload = fakes::server();
  workload.batch_size = 1;
  workload.latency = limit;
  return workload;
}

const std::vector<Request> kOneByOne = {
    with_batch(measure(kSlow), 1), with_batch(measure(kMiddle), 1), with_batch(measure(kFast), 1)};

struct Bench {
  explicit Bench(Duration end)
      : rig(best_of(kThree), end), server(rig.world.attach_server(milliseconds(0), 60)) {}
  // With batches of one within `limit`.
  Bench(Duration end, double per_s, Duration limit)
      : rig(best_of(kOneByOne), end),
        server(rig.world.attach_server(milliseconds(0), per_s, single(limit))) {}
  void stall(Duration at, std::uint32_t late, double longer_ms = 400) {
    rig.world.at(at, [this, late, longer_ms] { server.stall(longer_ms, late); });
  }
  const Observation& first_of(const PowerMode& mode) const {
    for (const Observation& answer : rig.policy.answers) {
      if (answer.setting.mode == mode) return answer;
    }
    ADD_FAILURE() << "not measured";
    return rig.policy.answers.front();
  }
  std::size_t pauses() const {
    std::size_t count = 0;
    for (const WorkloadCommand& command : rig.world.commands_to(1)) {
      count += runs(command.run, Kind::train) ? 0 : 1;
    }
    return count;
  }

  ServingRig rig;
  FakeServer& server;
};

TEST(StallLoop, WhatIsHeldGoesOnAfterAStallAndTrainsOn) {
  Bench bench(seconds(150));
  for (int at = 40; at < 140; at += 20) bench.stall(seconds(at), 6);
  bench.rig.run();
  EXPECT_EQ(bench.rig.summary.latency_steps, 0U);
  EXPECT_EQ(bench.pauses(), 0U);
  EXPECT_EQ(bench.rig.recorder.of(NoteType::late).size(), 5U) << "it is told all the same";
  EXPECT_EQ(bench.rig.recorder.of(NoteType::hold).size(), 1U);
}

TEST(StallLoop, TheSameRequestsLateWithoutAMinibatchThatStalledAreActedOn) {
  Bench bench(seconds(60));
  bench.stall(seconds(40), 6, 0);
  bench.rig.run();
  EXPECT_EQ(bench.rig.summary.latency_steps, 1U);
}

// Sixty requests a second earn 0.3: six late every four seconds are too many.
TEST(StallLoop, WhatAnswersTooManyLateForStallsIsNotHeldAnyMore) {
  Bench bench(seconds(150));
  for (int at = 40; at < 150; at += 4) {
    bench.rig.world.at(seconds(at), [&bench] {
      if (bench.rig.hardware.values[1] == 900000) bench.server.stall(400, 6);
    });
  }
  bench.rig.run();
  EXPECT_EQ(bench.rig.summary.latency_steps, 1U);
  EXPECT_EQ(bench.rig.recorder.of(NoteType::hold).back().setting.mode, kMiddle);
}

// A tenth of three requests is none.
TEST(StallLoop, OneThatIsLateForAStallIsBorneHoweverFewCome) {
  Bench bench(seconds(100), 3, milliseconds(600));
  bench.stall(seconds(60), 1, 800);
  bench.rig.run();
  EXPECT_EQ(bench.rig.summary.latency_steps, 0U);
  EXPECT_EQ(bench.rig.recorder.of(NoteType::hold).size(), 1U);
}

// The plan is for one request in half of the limit at least, 33 a second; what comes is five.
TEST(StallLoop, WhatIsBorneIsAShareOfTheRequestsThatCome) {
  Bench bench(seconds(100), 5, milliseconds(60));
  bench.stall(seconds(90), 4, 800);
  bench.rig.run();
  EXPECT_EQ(bench.rig.summary.latency_steps, 1U);
}

TEST(StallLoop, AMeasurementGoesOnAfterAStallAndEndsAfterOneTooMany) {
  for (const std::uint32_t late : {6U, 7U}) {
    Bench bench(seconds(60));
    bool stalled = false;
    for (int i = 20; i < 600; ++i) {
      bench.rig.world.at(milliseconds(100 * i), [&bench, &stalled, late, i] {
        const std::vector<KeptNote> settings = bench.rig.recorder.of(NoteType::setting);
        if (stalled || settings.empty() || settings.back().setting.mode != kFast) return;
        const Duration wait = seconds(1);  // its first minibatches say what is usual
        if (Time{} + milliseconds(100 * i) < settings.back().time + wait) return;
        stalled = true;
        bench.server.stall(400, late);
      });
    }
    bench.rig.run();
    EXPECT_TRUE(stalled);
    EXPECT_EQ(bench.first_of(kFast).ok(), late == 6) << late;
  }
}

}  // namespace
}  // namespace gearshift
