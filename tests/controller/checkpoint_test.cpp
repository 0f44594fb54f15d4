// Before power ends trainers save their work, and then they wait.
#include <gtest/gtest.h>

#include "tests/fakes/rig.h"

namespace gearshift::fakes {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Power ends soon between two times; it is gone from a third on.
class EndingLimit : public LimitSource {
 public:
  EndingLimit(Duration from, Duration to, Duration gone = Duration::max())
      : from_(from), to_(to), gone_(gone) {}
  std::string_view name() const override { return "battery"; }
  void consume(const Event&) override {}
  void hear(const Prevailing& prevailing) override { heard = prevailing; }
  Limit limit(Time now) override {
    const Duration at = now - Time{};
    Limit limit;
    limit.ends_soon = at >= from_ && at < to_;
    if (at >= gone_) limit.power_mw = kNoPowerMw;
    return limit;
  }

  Prevailing heard;

 private:
  Duration from_, to_, gone_;
};

Workload saving_trainer() {
  Workload workload = trainer();
  workload.saves = true;
  return workload;
}

class CheckpointRun : public testing::Test {
 protected:
  // What the limit heard last.
  Prevailing run(EndingLimit limit) {
    LimitSource* limits[] = {&limit};
    Controller(rig.world, rig.board, rig.policy, rig.recorder, limits, rig.options).run();
    return limit.heard;
  }
  bool waits() const {
    return !rig.world.commands.empty() && !runs(rig.world.commands.back().run, Kind::train);
  }
  Rig rig{[](const PolicyContext&, const std::vector<Observation>&) { return hold(kFast); },
          seconds(60)};
};

TEST_F(CheckpointRun, ATrainerSavesOnceThenWaitsThenGoesOn) {
  rig.world.attach(seconds(1), saving_trainer());
  rig.world.saves_after = seconds(2);
  rig.world.at(seconds(11), [&] {
    EXPECT_EQ(rig.world.published.phase, Phase::saving);
    EXPECT_FALSE(waits());
  });
  rig.world.at(seconds(13), [&] {
    EXPECT_EQ(rig.world.published.phase, Phase::paused);
    EXPECT_EQ(rig.world.published.cap_source.view(), "battery");
    EXPECT_TRUE(waits());
    EXPECT_EQ(mode(rig.hardware.values[0], rig.hardware.values[1]), kSlow);
  });
  run({seconds(10), seconds(40)});
  ASSERT_EQ(rig.world.checkpoints.size(), 1U);
  EXPECT_EQ(rig.world.checkpoints[0].within, seconds(30));
  EXPECT_FALSE(waits());
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  const auto told = rig.recorder.of(NoteType::checkpoint);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].text, "power ends soon: asked to save its work within 30 s");
  EXPECT_EQ(told[1].text, "saved its work in 2 s");
}

TEST_F(CheckpointRun, OneThatDoesNotAnswerWaitsWhenItsTimeIsOver) {
  rig.world.attach(seconds(1), saving_trainer());
  rig.world.at(milliseconds(39'900), [&] { EXPECT_FALSE(waits()); });
  rig.world.at(milliseconds(40'500), [&] { EXPECT_TRUE(waits()); });
  run({seconds(10), seconds(100)});
  const auto told = rig.recorder.of(NoteType::unsaved);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].text, "has not saved its work within 30 s");
  EXPECT_EQ(told[0].time, Time{} + seconds(40));
}

TEST_F(CheckpointRun, OneThatLeavesIsNotWaitedFor) {
  rig.world.attach(seconds(1), saving_trainer());
  rig.world.detach(seconds(12));
  run({seconds(10), seconds(100)});
  EXPECT_TRUE(rig.recorder.of(NoteType::unsaved).empty());
}

// Nobody is left who saves: who comes then has nothing to wait for.
TEST_F(CheckpointRun, NobodyWaitsWhenTheLastOneWhoSavesHasLeft) {
  rig.world.attach(seconds(1), saving_trainer());
  rig.world.saves_after = seconds(2);
  rig.world.at(seconds(14), [&] { EXPECT_TRUE(waits()); });
  rig.world.detach(seconds(15));
  std::size_t told = 0;
  rig.world.at(seconds(19), [&] { told = rig.world.commands.size(); });
  rig.world.attach(seconds(20));
  rig.world.at(seconds(50), [&] {
    EXPECT_EQ(rig.world.published.phase, Phase::holding);
    EXPECT_TRUE(told == rig.world.commands.size() || !waits());
  });
  run({seconds(10), seconds(100), seconds(55)});
  EXPECT_TRUE(waits());
}

TEST_F(CheckpointRun, IsOverNoMoreWhenNobodyIsLeftWhoSaves) {
  FakeWorld& world = rig.world;
  Checkpoint checkpoint(seconds(30));
  for (const WorkloadHandle handle : {1U, 2U}) {
    Workload workload = saving_trainer();
    workload.handle = handle;
    checkpoint.attach(workload);
  }
  ASSERT_EQ(checkpoint.ask(world, Time{}).size(), 2U);
  for (const WorkloadHandle handle : {1U, 2U}) {
    Event saved;
    saved.type = EventType::saved;
    saved.handle = handle;
    saved.set_sequence = world.checkpoints.at(handle - 1).sequence;
    EXPECT_TRUE(checkpoint.answer(saved));
  }
  EXPECT_TRUE(checkpoint.over());
  checkpoint.detach(1);
  EXPECT_TRUE(checkpoint.over());
  checkpoint.detach(2);
  EXPECT_FALSE(checkpoint.over());
}

TEST_F(CheckpointRun, OneThatCannotSaveTrainsOnUntilPowerIsGone) {
  rig.world.attach(seconds(1));
  rig.world.at(seconds(29), [&] { EXPECT_FALSE(waits()); });
  run({seconds(10), seconds(100), seconds(30)});
  EXPECT_TRUE(rig.world.checkpoints.empty());
  EXPECT_TRUE(waits());
}

// The request goes out before the command to wait, so that it is saved what there is.
TEST_F(CheckpointRun, PowerThatIsGoneAtOnceIsNotWaitedFor) {
  rig.world.attach(seconds(1), saving_trainer());
  rig.world.at(milliseconds(10'200), [&] { EXPECT_TRUE(waits()); });
  run({seconds(10), seconds(100), seconds(10)});
  EXPECT_EQ(rig.world.checkpoints.size(), 1U);
}

TEST_F(CheckpointRun, IsAskedForAnewWhenPowerEndsAgain) {
  rig.world.attach(seconds(1), saving_trainer());
  rig.world.saves_after = seconds(1);
  EndingLimit first(seconds(10), seconds(20));
  EndingLimit second(seconds(40), seconds(50));
  LimitSource* limits[] = {&first, &second};
  Controller(rig.world, rig.board, rig.policy, rig.recorder, limits, rig.options).run();
  ASSERT_EQ(rig.world.checkpoints.size(), 2U);
  EXPECT_NE(rig.world.checkpoints[0].sequence, rig.world.checkpoints[1].sequence);
}

TEST_F(CheckpointRun, ItsSourceHearsThatTheWorkIsSaved) {
  rig.world.attach(seconds(1), saving_trainer());
  rig.world.saves_after = seconds(2);
  EXPECT_FALSE(run({seconds(59), seconds(100)}).work_is_saved);
}

TEST_F(CheckpointRun, ItsSourceHearsWhileTheWorkloadsWait) {
  rig.world.attach(seconds(1), saving_trainer());
  rig.world.saves_after = seconds(2);
  EXPECT_TRUE(run({seconds(10), seconds(100)}).work_is_saved);
}

// What takes power and time then is the save, not the setting.
TEST_F(CheckpointRun, NothingIsMeasuredMeanwhile) {
  rig.policy = ListPolicy([](const PolicyContext&, const std::vector<Observation>& answers) {
    return answers.empty() ? measure(kFast) : hold(kFast);
  });
  rig.world.attach(seconds(1), saving_trainer());
  run({seconds(2), seconds(100)});
  for (const KeptNote& note : rig.recorder.of(NoteType::observation)) {
    EXPECT_FALSE(note.observation->ok());
  }
}

}  // namespace
}  // namespace gearshift::fakes
