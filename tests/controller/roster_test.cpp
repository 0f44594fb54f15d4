#include "controller/roster.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_world.h"

namespace gearshift {
namespace {

// Keeps the commands with whom they were for.
class CommandWorld : public World {
 public:
  struct Command {
    WorkloadHandle workload;
    std::uint32_t sequence;
    std::int32_t batch_size;
    Run run;
    friend bool operator==(const Command&, const Command&) = default;
  };
  Time wait_until(Time deadline, EventBuffer&) override { return deadline; }
  void command(WorkloadHandle workload, const WorkloadCommand& command) override {
    commands.push_back({workload, command.sequence, command.batch_size, command.run});
  }
  std::string_view script() override { return {}; }
  void publish(const Status&) override {}

  std::vector<Command> commands;
};
using Commands = std::vector<CommandWorld::Command>;

Workload server(WorkloadHandle handle = 2) {
  Workload workload = fakes::trainer(handle, "bert");
  workload.kind = Kind::infer;
  workload.batch_size = 1;
  workload.batch_sizes = {1, 2, 4};
  return workload;
}

Setting asked(std::int32_t train, std::int32_t infer = 0, Run run = Run::both) {
  Setting setting;
  setting.batch_size = {train, infer};
  setting.run = run;
  return setting;
}

Event answer(EventType type, WorkloadHandle handle, std::uint32_t sequence) {
  Event event;
  event.type = type;
  event.handle = handle;
  event.set_sequence = sequence;
  return event;
}

Event applied(WorkloadHandle handle, std::uint32_t sequence) {
  return answer(EventType::applied, handle, sequence);
}

Event refused(WorkloadHandle handle, std::uint32_t sequence) {
  return answer(EventType::refused, handle, sequence);
}

class RosterTest : public testing::Test {
 protected:
  CommandWorld world_;
  Roster roster_;
};

TEST_F(RosterTest, IsEmptyAndSettledAtFirst) {
  EXPECT_FALSE(roster_.any_managed());
  EXPECT_EQ(roster_.attached(), 0U);
  EXPECT_EQ(roster_.key(), "");
  EXPECT_TRUE(roster_.settled());
  roster_.command(world_, asked(16, 1));
  EXPECT_TRUE(world_.commands.empty());
}

TEST_F(RosterTest, ManagesOneWorkloadAKind) {
  EXPECT_TRUE(roster_.attach(fakes::trainer(1)));
  EXPECT_FALSE(roster_.attach(fakes::trainer(2))) << "a second one is observed only";
  EXPECT_TRUE(roster_.attach(server(3)));
  EXPECT_EQ(roster_.attached(), 3U);
  EXPECT_EQ(roster_.managed(Kind::train)->handle, 1);
  EXPECT_EQ(roster_.managed(Kind::infer)->handle, 3);
  EXPECT_EQ(roster_.managed()[0], roster_.managed(Kind::train));
  EXPECT_EQ(roster_.managed()[1], roster_.managed(Kind::infer));
}

TEST_F(RosterTest, DoesNotManageAWorkloadThatIsToBeObserved) {
  Workload observed = fakes::trainer(1);
  observed.managed = false;
  EXPECT_FALSE(roster_.attach(observed));
  EXPECT_FALSE(roster_.any_managed());
  EXPECT_EQ(roster_.attached(), 1U);
  EXPECT_TRUE(roster_.attach(fakes::trainer(2))) << "the place is still free";
}

TEST_F(RosterTest, GivesThePlaceOfTheOneThatLeftToTheNext) {
  roster_.attach(fakes::trainer(1));
  roster_.attach(fakes::trainer(2));
  EXPECT_FALSE(roster_.detach(2)) << "it was not managed";
  EXPECT_EQ(roster_.managed(Kind::train)->handle, 1);
  EXPECT_TRUE(roster_.detach(1));
  EXPECT_EQ(roster_.managed(Kind::train), nullptr);
  EXPECT_FALSE(roster_.detach(1)) << "it has already left";
  EXPECT_EQ(roster_.attached(), 0U);
  EXPECT_TRUE(roster_.attach(fakes::trainer(3)));
}

TEST_F(RosterTest, IsKeyedByNamesAndKinds) {
  roster_.attach(server(2));
  EXPECT_EQ(roster_.key(), "infer:bert ");
  roster_.attach(fakes::trainer(1));
  EXPECT_EQ(roster_.key(), "train:resnet18 infer:bert ") << "whichever came first";
  roster_.detach(2);
  EXPECT_EQ(roster_.key(), "train:resnet18 ");
}

TEST_F(RosterTest, TakesOutOfASettingWhatDoesNotApply) {
  EXPECT_EQ(roster_.normalised(asked(16, 4, Run::train)), asked(0, 0, Run::train));
  roster_.attach(fakes::trainer());
  EXPECT_EQ(roster_.normalised(asked(16, 4, Run::both)), asked(16, 0, Run::train));
  EXPECT_EQ(roster_.normalised(asked(16, 4, Run::train)), asked(16, 0, Run::train));
  EXPECT_EQ(roster_.normalised(asked(16, 4, Run::infer)), asked(16, 0, Run::infer));
  roster_.attach(server());
  EXPECT_EQ(roster_.normalised(asked(16, 4, Run::train)), asked(16, 4, Run::train));
  EXPECT_EQ(roster_.normalised(asked(16, 4, Run::infer)), asked(16, 4, Run::infer));
}

TEST_F(RosterTest, LeavesTheModeOfASettingAsItIs) {
  roster_.attach(fakes::trainer());
  Setting setting = asked(16, 4);
  setting.mode = fakes::mode(2, 600000);
  EXPECT_EQ(roster_.normalised(setting).mode, setting.mode);
}

TEST_F(RosterTest, ObjectsToABatchSizeTheWorkloadDoesNotAllow) {
  roster_.attach(fakes::trainer());
  for (const std::int32_t allowed : {8, 16, 32}) {
    EXPECT_EQ(roster_.objection(asked(allowed)), std::nullopt) << allowed;
  }
  for (const std::int32_t wrong : {-1, 0, 7, 9, 33}) {
    EXPECT_EQ(roster_.objection(asked(wrong)),
              "batch size " + std::to_string(wrong) + " is not one that resnet18 allows");
  }
}

TEST_F(RosterTest, ReadsOnlyAsManyBatchSizesAsTheWorkloadGave) {
  Workload workload = fakes::trainer();
  workload.batch_size_count = 2;  // the third, 32, is left over
  roster_.attach(workload);
  EXPECT_EQ(roster_.objection(asked(16)), std::nullopt);
  EXPECT_NE(roster_.objection(asked(32)), std::nullopt);
}

TEST_F(RosterTest, AcceptsTheBatchSizeInUseThoughItIsNotListed) {
  Workload workload = fakes::trainer();
  workload.batch_size = 10;
  workload.batch_size_count = 0;
  roster_.attach(workload);
  EXPECT_EQ(roster_.objection(asked(10)), std::nullopt);
  EXPECT_NE(roster_.objection(asked(16)), std::nullopt);
}

TEST_F(RosterTest, ObjectsToASettingUnderWhichNothingRuns) {
  EXPECT_NE(roster_.objection(asked(0)), std::nullopt) << "nobody is there";
  roster_.attach(fakes::trainer());
  EXPECT_EQ(roster_.objection(asked(16, 0, Run::infer)), "run = infer leaves nothing to run");
  EXPECT_EQ(roster_.objection(asked(16, 0, Run::train)), std::nullopt);
  roster_.attach(server());
  EXPECT_EQ(roster_.objection(asked(16, 1, Run::infer)), std::nullopt);
}

TEST_F(RosterTest, CommandsNothingThatIsAlreadySo) {
  roster_.attach(fakes::trainer());
  roster_.command(world_, asked(16));
  EXPECT_TRUE(world_.commands.empty());
  EXPECT_TRUE(roster_.settled());
}

TEST_F(RosterTest, CommandsOnlyTheWorkloadsForWhichSomethingChanged) {
  roster_.attach(fakes::trainer(1));
  roster_.attach(server(2));
  roster_.command(world_, asked(32, 1));
  roster_.command(world_, asked(32, 1));
  EXPECT_EQ(world_.commands, (Commands{{1, 1, 32, Run::both}}));
  roster_.command(world_, asked(32, 4));
  EXPECT_EQ(world_.commands.back(), (CommandWorld::Command{2, 2, 4, Run::both}));
  EXPECT_EQ(world_.commands.size(), 2U);
}

TEST_F(RosterTest, CommandsTheKindThatStopsWhenWhatRunsChanges) {
  roster_.attach(fakes::trainer(1));
  roster_.attach(server(2));
  roster_.command(world_, asked(16, 1, Run::train));
  EXPECT_EQ(world_.commands, (Commands{{2, 1, 1, Run::train}})) << "the trainer ran and runs on";
}

TEST_F(RosterTest, AwaitsBatchesUntilTheyAreInForceAndTellsSmallerOnes) {
  roster_.attach(fakes::trainer(1));
  const auto answer = [&](std::uint32_t sequence, std::int32_t batch_size) {
    Event event = applied(1, sequence);
    event.batch_size = batch_size;
    roster_.applied(event);
  };
  EXPECT_FALSE(roster_.awaits_batches());
  roster_.command(world_, asked(32));
  EXPECT_FALSE(roster_.awaits_smaller_batches());
  EXPECT_TRUE(roster_.awaits_batches());
  answer(1, 32);
  EXPECT_FALSE(roster_.awaits_batches());
  roster_.command(world_, asked(16));
  roster_.command(world_, asked(16));
  EXPECT_TRUE(roster_.awaits_smaller_batches());
  EXPECT_TRUE(roster_.awaits_batches());
  answer(2, 16);
  EXPECT_FALSE(roster_.awaits_smaller_batches());
  EXPECT_FALSE(roster_.awaits_batches());
}

TEST_F(RosterTest, RestsWhereWhoWasAskedToWaitHasAnswered) {
  EXPECT_TRUE(roster_.rests(Kind::train)) << "nobody is there";
  roster_.attach(fakes::trainer(1));
  roster_.attach(server(2));
  EXPECT_FALSE(roster_.rests(Kind::train));
  Setting waits = asked(16, 4);
  waits.run = Run::infer;
  roster_.command(world_, waits);
  EXPECT_FALSE(roster_.rests(Kind::train)) << "its minibatch may still run";
  roster_.applied(applied(1, 1));
  EXPECT_TRUE(roster_.rests(Kind::train));
  EXPECT_FALSE(roster_.rests(Kind::infer));
}

TEST_F(RosterTest, NeverCommandsAnObservedWorkload) {
  roster_.attach(fakes::trainer(1));
  roster_.attach(fakes::trainer(2));
  roster_.command(world_, asked(32));
  EXPECT_EQ(world_.commands, (Commands{{1, 1, 32, Run::both}}));
}

TEST_F(RosterTest, IsSettledWhenEveryCommandIsAnswered) {
  roster_.attach(fakes::trainer(1));
  roster_.attach(server(2));
  roster_.command(world_, asked(32, 4));
  EXPECT_FALSE(roster_.settled());
  roster_.applied(applied(1, 1));
  EXPECT_FALSE(roster_.settled());
  roster_.applied(applied(2, 2));
  EXPECT_TRUE(roster_.settled());
}

TEST_F(RosterTest, IgnoresAppliedForAnOldCommand) {
  roster_.attach(fakes::trainer(1));
  roster_.command(world_, asked(32));
  roster_.command(world_, asked(8));
  roster_.applied(applied(1, 1));
  EXPECT_FALSE(roster_.settled());
  roster_.applied(applied(1, 2));
  EXPECT_TRUE(roster_.settled());
  roster_.applied(applied(1, 1));
  EXPECT_TRUE(roster_.settled()) << "an answer that comes twice takes nothing back";
}

TEST_F(RosterTest, IgnoresAppliedForACommandNeverGiven) {
  roster_.attach(fakes::trainer(1));
  roster_.command(world_, asked(32));
  roster_.applied(applied(1, 2));
  roster_.applied(applied(7, 1));
  EXPECT_FALSE(roster_.settled());
  roster_.command(world_, asked(8));
  EXPECT_FALSE(roster_.settled()) << "an answer given in advance does not count";
}

TEST_F(RosterTest, TakesARefusalOfTheNewestCommandAsItsAnswer) {
  roster_.attach(fakes::trainer(1));
  roster_.command(world_, asked(32));
  EXPECT_TRUE(roster_.refused(refused(1, 1)));
  EXPECT_TRUE(roster_.settled());
  // What it runs with is unknown now, so the same is asked for again.
  roster_.command(world_, asked(32));
  EXPECT_EQ(world_.commands.back(), (CommandWorld::Command{1, 2, 32, Run::both}));
  EXPECT_FALSE(roster_.settled());
}

TEST_F(RosterTest, IgnoresARefusalOfAnOldCommand) {
  roster_.attach(fakes::trainer(1));
  roster_.command(world_, asked(32));
  roster_.command(world_, asked(8));
  EXPECT_FALSE(roster_.refused(refused(1, 1)));
  EXPECT_FALSE(roster_.refused(refused(1, 3)));
  EXPECT_FALSE(roster_.refused(refused(2, 2)));
  EXPECT_FALSE(roster_.settled());
  roster_.command(world_, asked(8));
  EXPECT_EQ(world_.commands.size(), 2U) << "the newest command still stands";
}

TEST_F(RosterTest, AsksAgainToWaitWithTheBatchInForceWhereTheWaitWasRefused) {
  roster_.attach(fakes::trainer(1));
  roster_.command(world_, asked(32));
  roster_.pause(world_);
  EXPECT_EQ(world_.commands.back(), (CommandWorld::Command{1, 2, 16, Run::infer}));
  roster_.pause(world_);
  EXPECT_EQ(world_.commands.size(), 2U) << "it may still wait";
  EXPECT_TRUE(roster_.refused(refused(1, 2)));
  roster_.pause(world_);
  EXPECT_EQ(world_.commands.back(), (CommandWorld::Command{1, 3, 16, Run::infer}));
}

TEST_F(RosterTest, DoesNotAskWithoutEndWhoRefusesToWait) {
  roster_.attach(fakes::trainer(1));
  for (std::uint32_t sequence = 1; sequence <= 5; ++sequence) {
    roster_.pause(world_);
    roster_.refused(refused(1, sequence));
  }
  EXPECT_EQ(world_.commands.size(), 3U);
  roster_.command(world_, asked(16));
  roster_.pause(world_);
  EXPECT_EQ(world_.commands.size(), 5U) << "the next wait is another one";
}

TEST_F(RosterTest, AsksToWaitWhoRefusedAWaitWithAnotherBatch) {
  roster_.attach(fakes::trainer(1));
  roster_.attach(server(2));
  roster_.command(world_, asked(32, 1, Run::infer));
  EXPECT_TRUE(roster_.refused(refused(1, 1)));
  roster_.pause(world_);
  EXPECT_EQ(world_.commands[1], (CommandWorld::Command{1, 2, 16, Run::infer}));
}

// Sequence 0 means that no command was given; a client that refuses it refuses nothing.
TEST_F(RosterTest, IgnoresARefusalWhereNothingWasAsked) {
  roster_.attach(fakes::trainer(1));
  EXPECT_FALSE(roster_.refused(refused(1, 0)));
  roster_.command(world_, asked(16));
  EXPECT_TRUE(world_.commands.empty());
}

TEST_F(RosterTest, DoesNotMixTheAnswersOfTwoLives) {
  roster_.attach(fakes::trainer(1));
  roster_.command(world_, asked(32));
  roster_.detach(1);
  EXPECT_TRUE(roster_.settled()) << "nobody is left who could answer";
  roster_.attach(fakes::trainer(5));
  roster_.command(world_, asked(32));
  EXPECT_EQ(world_.commands.back(), (CommandWorld::Command{5, 2, 32, Run::both}))
      << "sequences are not used again";
  roster_.applied(applied(1, 2));
  roster_.applied(applied(5, 1));
  EXPECT_FALSE(roster_.settled());
  roster_.applied(applied(5, 2));
  EXPECT_TRUE(roster_.settled());
}

TEST_F(RosterTest, ExpectsMinibatchesOfTheKindsThatRun) {
  EXPECT_FALSE(roster_.expected(asked(16))[0].runs) << "nobody is there";
  roster_.attach(fakes::trainer(1));
  roster_.attach(server(2));
  const auto both = roster_.expected(asked(16, 1));
  EXPECT_TRUE(both[0].runs && both[1].runs);
  const auto train = roster_.expected(asked(16, 1, Run::train));
  EXPECT_TRUE(train[0].runs);
  EXPECT_FALSE(train[1].runs);
  roster_.command(world_, asked(32, 1));
  EXPECT_EQ(roster_.expected(asked(32, 1))[0].set_sequence, 1U);
  EXPECT_EQ(roster_.expected(asked(32, 1))[1].set_sequence, 0U) << "it was asked for nothing";
}

TEST_F(RosterTest, ExpectsABatchOfRequestsAsOftenAsItFills) {
  roster_.attach(fakes::trainer(1));
  roster_.attach(server(2));
  const auto expected = roster_.expected(asked(16, 4), 0.5);
  EXPECT_EQ(expected[1].comes_every, std::chrono::seconds(8));
  EXPECT_EQ(expected[0].comes_every, Duration::zero());
  EXPECT_EQ(roster_.expected(asked(16, 4), 0)[1].comes_every, Duration::zero()) << "unknown";
}

TEST_F(RosterTest, CallsAWorkloadWarmOnceItHasReported) {
  roster_.attach(fakes::trainer(1));
  Minibatch minibatch;
  minibatch.workload = 2;
  roster_.add(minibatch);
  EXPECT_FALSE(roster_.expected(asked(16))[0].warm) << "that was another workload's";
  minibatch.workload = 1;
  minibatch.kind = Kind::infer;
  roster_.add(minibatch);
  EXPECT_FALSE(roster_.expected(asked(16))[0].warm) << "nobody of that kind is there";
  minibatch.kind = Kind::train;
  roster_.add(minibatch);
  EXPECT_TRUE(roster_.expected(asked(16))[0].warm);
  roster_.detach(1);
  roster_.attach(fakes::trainer(3));
  EXPECT_FALSE(roster_.expected(asked(16))[0].warm) << "a new process warms up again";
}

}  // namespace
}  // namespace gearshift
