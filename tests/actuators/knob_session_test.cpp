#include "actuators/knob_session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/actuators/host_groups.h"
#include "tests/fakes/directory_board.h"

namespace gearshift {
namespace {

using fakes::DirectoryBoard;

constexpr std::uint32_t kUser = 1234;

class KnobSessionTest : public testing::Test {
 protected:
  KnobAnswer ask(KnobVerb verb, std::size_t knob = 0, std::int64_t value = 0) {
    return serve(verb, knob, value).value_or(KnobAnswer{.text = "no answer"});
  }
  std::optional<KnobAnswer> serve(KnobVerb verb, std::size_t knob = 0, std::int64_t value = 0) {
    return session_.serve({.sequence = ++sequence_,
                           .verb = verb,
                           .knob = static_cast<std::uint8_t>(knob),
                           .value = value},
                          now_);
  }
  void hello() {
    const KnobAnswer answer = ask(KnobVerb::hello, 0, kKnobProtocolVersion);
    ASSERT_EQ(answer.type, KnobAnswerType::welcome);
  }
  std::size_t knob(std::string_view name) { return *actuator_.knobs().find(name); }

  DirectoryBoard board_;
  fakes::TempTree state_;
  Sysroot root_{board_.root()};
  BoardActuator actuator_{
      board_.description(), root_, {.journal = state_.at("/state/knobs.journal")}};
  KnobSession session_{actuator_, root_, root_, "directory-board", kUser};
  std::uint32_t sequence_ = 0;
  Time now_{std::chrono::hours(1)};
};

TEST_F(KnobSessionTest, WelcomesWithTheKnobsOfTheLiveTables) {
  const KnobAnswer answer = ask(KnobVerb::hello, 0, kKnobProtocolVersion);
  ASSERT_EQ(answer.type, KnobAnswerType::welcome);
  EXPECT_EQ(answer.welcome->board, "directory-board");
  ASSERT_EQ(answer.welcome->knobs.size(), 4u);
  EXPECT_EQ(answer.welcome->knobs.knobs[knob("gpu_mhz")].values.back(), 1'300'500);
  EXPECT_EQ(answer.values[knob("cpu_cores")], 8);
  EXPECT_EQ(answer.sequence, 1u);
}

TEST_F(KnobSessionTest, WritesWhatIsInTheKnobSpaceAndTellsWhatIsInForce) {
  hello();
  const KnobAnswer answer = ask(KnobVerb::write, knob("gpu_mhz"), 1'109'250);
  EXPECT_EQ(answer.type, KnobAnswerType::done) << answer.text;
  EXPECT_EQ(ask(KnobVerb::write, knob("cpu_mhz"), 2'201'600).values[knob("cpu_mhz")], 2'201'600);
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), "1109250000");
  EXPECT_TRUE(std::filesystem::exists(state_.at("/state/knobs.journal")));
  EXPECT_EQ(session_.take_offence(), "");
}

TEST_F(KnobSessionTest, RefusesWhatIsOutsideTheKnobSpaceByNameAndWritesNothing) {
  hello();
  const auto before = board_.bytes();
  for (const std::int64_t value : {1'400'000, 306'001, 0, -1}) {
    EXPECT_EQ(ask(KnobVerb::write, knob("gpu_mhz"), value).type, KnobAnswerType::refused) << value;
  }
  const KnobAnswer answer = ask(KnobVerb::write, knob("gpu_mhz"), 1'400'000);
  EXPECT_EQ(answer.text, "gpu_mhz: 1400 is none of its 4 values from 306 to 1300.5");
  EXPECT_EQ(session_.take_offence(), answer.text);
  EXPECT_EQ(ask(KnobVerb::write, 4, 1).type, KnobAnswerType::refused);
  EXPECT_EQ(ask(KnobVerb::write, 255, 1).text, "knob 255: there are 4");
  EXPECT_EQ(board_.bytes(), before);
  EXPECT_FALSE(std::filesystem::exists(state_.at("/state/knobs.journal")));
}

TEST_F(KnobSessionTest, ServesNobodyWhoHasNotSaidHelloInItsVersion) {
  const auto before = board_.bytes();
  EXPECT_EQ(ask(KnobVerb::write, knob("gpu_mhz"), 306'000).type, KnobAnswerType::refused);
  EXPECT_EQ(ask(KnobVerb::hello, 0, kKnobProtocolVersion + 1).type, KnobAnswerType::refused);
  EXPECT_EQ(ask(KnobVerb::write, knob("gpu_mhz"), 306'000).type, KnobAnswerType::refused);
  EXPECT_EQ(board_.bytes(), before);
}

TEST_F(KnobSessionTest, AnswersABeatWhereAKnobHasMovedAndOnceASecond) {
  hello();
  EXPECT_FALSE(serve(KnobVerb::beat));
  board_.put(DirectoryBoard::gpu("max_freq"), "306000000");
  board_.settle();
  const auto told = serve(KnobVerb::beat);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->type, KnobAnswerType::values);
  EXPECT_EQ(told->values[knob("gpu_mhz")], 306'000);
  EXPECT_FALSE(serve(KnobVerb::beat));
  now_ += std::chrono::seconds(1);
  EXPECT_TRUE(serve(KnobVerb::beat)) << "else nobody could tell it from one that is dead";
}

TEST_F(KnobSessionTest, TellsWhichKnobWouldNotGo) {
  hello();
  board_.put(DirectoryBoard::emc("mrq_rate_locked"), "unlocked");
  const KnobAnswer answer = ask(KnobVerb::write, knob("mem_mhz"), 3'199'000);
  EXPECT_EQ(answer.type, KnobAnswerType::refused);
  EXPECT_NE(answer.text.find("mem_mhz"), std::string::npos) << answer.text;
  EXPECT_EQ(session_.take_offence(), "") << "the client did nothing wrong";
}

TEST_F(KnobSessionTest, ManagesProcessesOfItsUserAlone) {
  hello();
  const auto status = [&](std::string_view users) {
    board_.put("/proc/77/status",
               "Name:\ttrainer\nUmask:\t0022\nUid:\t" + std::string(users) + "\nGid:\t1\n");
  };
  status("1234\t1234\t1234\t1234");
  EXPECT_EQ(ask(KnobVerb::manage, 0, 77).type, KnobAnswerType::done);
  status("1235\t1235\t1235\t1235");
  EXPECT_EQ(ask(KnobVerb::manage, 0, 77).type, KnobAnswerType::refused);
  status("1234\t0\t0\t0");
  EXPECT_EQ(ask(KnobVerb::manage, 0, 77).type, KnobAnswerType::refused) << "a setuid program";
  EXPECT_EQ(ask(KnobVerb::manage, 0, 78).type, KnobAnswerType::refused) << "no such process";
  EXPECT_EQ(ask(KnobVerb::manage, 2, 77).type, KnobAnswerType::refused) << "no such kind";
  EXPECT_EQ(ask(KnobVerb::manage, 0, -1).type, KnobAnswerType::refused);
  EXPECT_EQ(ask(KnobVerb::manage, 0, 0).type, KnobAnswerType::done) << "none any more";
  EXPECT_EQ(ask(KnobVerb::manage, 0, (std::int64_t{1} << 32) + 77).type, KnobAnswerType::refused);
}

// Who has mounted a board's files may write in them what he likes.
TEST_F(KnobSessionTest, AsksTheMachineAndNotTheBoardWhoseAProcessIs) {
  const auto status = [](std::uint32_t user) {
    const std::string text = std::to_string(user);
    return "Name:\ttrainer\nUid:\t" + text + '\t' + text + "\nGid:\t1\n";
  };
  fakes::TempTree tree;
  const Sysroot machine(tree.root());
  KnobSession session(actuator_, root_, machine, "directory-board", kUser);
  const auto manage = [&](std::int64_t pid) {
    return session.serve({.sequence = 1, .verb = KnobVerb::manage, .value = pid}, now_)->type;
  };
  session.serve({.sequence = 1, .verb = KnobVerb::hello, .value = kKnobProtocolVersion}, now_);
  board_.put("/proc/77/status", status(kUser));
  EXPECT_EQ(manage(77), KnobAnswerType::refused) << "the machine has no such process";
  tree.put("/proc/77/status", status(0));
  EXPECT_EQ(manage(77), KnobAnswerType::refused) << "it is root's";
  tree.put("/proc/78/status", status(kUser));
  EXPECT_EQ(manage(78), KnobAnswerType::done);
}

TEST_F(KnobSessionTest, KeepsOnlyWhatWasSetBeforeItWasAskedTo) {
  hello();
  ask(KnobVerb::keep);
  EXPECT_TRUE(session_.keeps());
  ask(KnobVerb::write, knob("gpu_mhz"), 306'000);
  EXPECT_FALSE(session_.keeps());
}

TEST_F(KnobSessionTest, RestoresEveryByte) {
  const auto before = board_.bytes();
  hello();
  ask(KnobVerb::write, knob("gpu_mhz"), 306'000);
  EXPECT_NE(board_.bytes(), before);
  EXPECT_EQ(ask(KnobVerb::restore).type, KnobAnswerType::done);
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
}

TEST(KnobSession, PutsNoProcessOfTheMachineInAGroupOfABoardBelowAnotherRoot) {
  const fakes::TempTree tree;
  const fakes::TempTree state;
  const fakes::TempTree proc;
  tree.put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu");
  tree.put("/sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu");
  tree.put("/sys/fs/cgroup/user/cgroup.procs", "77");
  tree.put("/sys/fs/cgroup/user/cpuset.cpus.effective", "0-3");
  tree.put("/proc/self/cgroup", "0::/user");
  tree.put("/proc/77/cgroup", "0::/user");
  proc.put("/proc/77/status", "Name:\ttrainer\nUid:\t1234\t1234\nGid:\t1\n");
  Sysroot root(tree.root());
  const Sysroot machine(proc.root());
  BoardActuator actuator(host(), root, {.journal = state.at("/knobs.journal")});
  ASSERT_GT(actuator.knobs().size(), 0U) << actuator.absent()[0].reason;
  KnobSession session(actuator, root, machine, "host", kUser);
  const Time now{std::chrono::hours(1)};
  session.serve({.sequence = 1, .verb = KnobVerb::hello, .value = kKnobProtocolVersion}, now);
  const auto answer = session.serve({.sequence = 2, .verb = KnobVerb::manage, .value = 77}, now);
  EXPECT_EQ(answer->type, KnobAnswerType::refused);
  EXPECT_NE(answer->text.find("without --sysroot"), std::string::npos) << answer->text;
  EXPECT_FALSE(
      std::filesystem::exists(tree.at("/sys/fs/cgroup/gearshift-" + std::to_string(getpid()))));
  EXPECT_EQ(session.take_offence(), "") << "the client did nothing wrong";
}

}  // namespace
}  // namespace gearshift
