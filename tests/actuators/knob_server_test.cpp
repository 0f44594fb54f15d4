// KnobServer in a process of its own, and RemoteActuator here: the two sides of one socket.
#include "actuators/knob_server.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "actuators/board_actuator.h"
#include "actuators/guardian.h"
#include "actuators/knob_journal.h"
#include "actuators/remote_actuator.h"
#include "tests/actuators/slow_clock.h"
#include "tests/fakes/proc_files.h"
#include "tests/fakes/running_knob_server.h"
#include "tests/fakes/stopped_step.h"

namespace gearshift {
namespace {

using fakes::DirectoryBoard;

class KnobServerTest : public fakes::RunningKnobServer {};

TEST_F(KnobServerTest, AppliesTellsWhatIsInForceAndRestoresEveryByte) {
  const auto before = board_.bytes();
  start();
  const auto actuator = connect();
  ASSERT_EQ(actuator->knobs().size(), 4u);
  apply(*actuator, "gpu_mhz", 1'300'500);
  apply(*actuator, "cpu_mhz", 2'201'600);
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), "1300500000");
  EXPECT_EQ(actuator->read(*actuator->knobs().find("cpu_mhz")), 2'201'600);
  actuator->restore();
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
  EXPECT_EQ(stop(), 0);
}

TEST_F(KnobServerTest, AWriteIsAskedForOnceAndUnknownUntilItIsAnswered) {
  start();
  const auto actuator = connect();
  const std::size_t cpu = *actuator->knobs().find("cpu_mhz");
  EXPECT_EQ(actuator->read(cpu), 1'728'000);
  kill(server_, SIGSTOP);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(actuator->write(cpu, 2'201'600), Progress::more);
  EXPECT_EQ(actuator->read(cpu), std::nullopt) << "it may be either";
  EXPECT_EQ(actuator->write(cpu, 729'600), Progress::more) << "the board changes its mind";
  kill(server_, SIGCONT);
  apply(*actuator, "cpu_mhz", 729'600);
  EXPECT_EQ(actuator->read(cpu), 729'600);
  EXPECT_EQ(board_.get(DirectoryBoard::policy(0) + "/scaling_max_freq"), "729600");
}

TEST_F(KnobServerTest, AnOlderAnswerIsNotTakenForTheNewerOne) {
  // A hello and one write are served, and the next one has to wait.
  start([](KnobServerOptions& options) { options.requests_per_s = 2; });
  const auto actuator = connect();
  const std::size_t cpu = *actuator->knobs().find("cpu_mhz");
  kill(server_, SIGSTOP);
  EXPECT_EQ(actuator->write(cpu, 1), Progress::more);
  EXPECT_EQ(actuator->write(cpu, 729'600), Progress::more);
  kill(server_, SIGCONT);
  actuator->await(std::chrono::seconds(20));
  EXPECT_EQ(actuator->write(cpu, 729'600), Progress::more);
  EXPECT_EQ(actuator->read(cpu), std::nullopt);
}

TEST_F(KnobServerTest, ARefusedWriteSaysWhy) {
  start();
  const auto actuator = connect();
  board_.put(DirectoryBoard::emc("mrq_rate_locked"), "unlocked");
  const std::size_t memory = *actuator->knobs().find("mem_mhz");
  std::string why;
  for (int tries = 0; why.empty() && tries < 100; ++tries) {
    try {
      actuator->write(memory, 3'199'000);
      actuator->await(std::chrono::milliseconds(20));
    } catch (const KnobError& error) {
      why = error.what();
    }
  }
  EXPECT_NE(why.find("mem_mhz"), std::string::npos) << why;
}

TEST_F(KnobServerTest, PutsEveryByteBackWhenTheClientGoesWithoutAWord) {
  const auto before = board_.bytes();
  start();
  auto actuator = connect();
  apply(*actuator, "gpu_mhz", 1'300'500);
  actuator.reset();
  ASSERT_TRUE(says("the knobs are as they were found"));
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
  EXPECT_FALSE(std::filesystem::exists(journal()));
}

// The helper was stopped, say, and goes on at the moment at which its guardian steps.
TEST_F(KnobServerTest, WhatItPutsBackWhileItsGuardianStepsStaysPutBack) {
  const auto before = board_.bytes();
  start();
  const fakes::SlowClock slow;
  BoardDescription board = description_;
  board.apply_timeout = std::chrono::milliseconds(20);  // a core each
  int begin[2];
  ASSERT_EQ(pipe(begin), 0);
  const pid_t guardian = fork();  // before there is a connection that it would keep open
  if (guardian == 0) {
    char word = 0;
    if (read(begin[0], &word, 1) == 1) step_to_safe_mode(board, root_, slow, journal());
    _exit(0);
  }
  auto actuator = connect();
  apply(*actuator, "gpu_mhz", 1'300'500);
  ASSERT_EQ(write(begin[1], "s", 1), 1);
  for (int writes = 0; writes < 3; ++writes) slow.await_question();
  actuator.reset();
  EXPECT_TRUE(says("the knobs are as they were found"));
  int status = 0;
  EXPECT_EQ(waitpid(guardian, &status, 0), guardian);
  EXPECT_EQ(status, 0);
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
  for (const int end : begin) close(end);
}

TEST_F(KnobServerTest, WhatAStepStillWritesBehindItsRestoreIsPutBackByItsGuardian) {
  const auto before = board_.bytes();
  start([](KnobServerOptions& options) { options.step_patience = std::chrono::milliseconds(20); });
  fakes::StoppedStep step(description_, root_, clock_, journal());
  auto actuator = connect();
  apply(*actuator, "gpu_mhz", 1'300'500);
  step.begin();
  actuator.reset();
  EXPECT_TRUE(says("left to the guardian process"));
  EXPECT_TRUE(std::filesystem::exists(journal()));
  step.go_on();
  ASSERT_TRUE(says("the helper left it to this process"));
  EXPECT_NE(line_.find(" 0 failed"), std::string::npos) << line_;
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
  actuator = connect();
  apply(*actuator, "gpu_mhz", 306'000);
}

TEST_F(KnobServerTest, KeepsASettingThatItIsAskedToKeepAndTheNextClientPutsItBack) {
  const auto before = board_.bytes();
  start();
  auto actuator = connect();
  apply(*actuator, "gpu_mhz", 1'300'500);
  actuator->keep();
  actuator.reset();
  ASSERT_TRUE(says("its setting is kept"));
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), "1300500000");
  EXPECT_TRUE(std::filesystem::exists(journal()));
  actuator = connect();
  board_.settle();
  EXPECT_EQ(board_.bytes(), before) << "as the next daemon does without a helper";
}

TEST_F(KnobServerTest, StepsToTheSafeModeWhenTheClientHangsAndServesItWhenItGoesOn) {
  start([](KnobServerOptions& options) { options.patience = std::chrono::milliseconds(100); });
  const auto actuator = connect();
  apply(*actuator, "gpu_mhz", 1'300'500);
  ASSERT_TRUE(says("says nothing any more"));
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), "306000000");
  board_.settle();
  const std::size_t gpu = *actuator->knobs().find("gpu_mhz");
  EXPECT_TRUE(beat_until(*actuator, [&] { return actuator->read(gpu) == 306'000; }))
      << "so that the loop sees it and sets its own again";
  apply(*actuator, "gpu_mhz", 1'300'500);
  EXPECT_TRUE(says("goes on"));
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), "1300500000");
}

TEST_F(KnobServerTest, WhereItIsKilledItsGuardianPutsEveryByteBackAndTheClientComesBack) {
  const auto before = board_.bytes();
  start();
  const auto actuator = connect();
  apply(*actuator, "gpu_mhz", 1'300'500);
  const std::size_t gpu = *actuator->knobs().find("gpu_mhz");
  const pid_t guardian = fakes::child_of(server_);
  ASSERT_GT(guardian, 0);
  // It has its name once it has let go of the helper's sockets.
  ASSERT_TRUE(
      beat_until(*actuator, [&] { return fakes::process_name(guardian) == "gs-guardian"; }));
  kill(guardian, SIGSTOP);
  kill(server_, SIGKILL);
  reap();
  EXPECT_EQ(connect_to(socket()), -1) << "the next one could not listen there";
  kill(guardian, SIGCONT);
  ASSERT_TRUE(says("the helper is gone"));
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
  EXPECT_TRUE(beat_until(*actuator, [&] { return !actuator->read(gpu); }));
  EXPECT_NE(actuator->take_complaint().find("no knob can be set"), std::string::npos);
  EXPECT_EQ(actuator->write(gpu, 306'000), Progress::away);
  start();
  EXPECT_TRUE(beat_until(*actuator, [&] { return actuator->read(gpu) == 612'000; }));
  EXPECT_NE(actuator->take_complaint().find("has come back"), std::string::npos);
  apply(*actuator, "gpu_mhz", 306'000);
}

TEST_F(KnobServerTest, AWriteToAHelperThatStandsStillIsAwayAndMadeWhenItGoesOn) {
  start();
  const auto actuator = connect();
  apply(*actuator, "gpu_mhz", 1'300'500);
  const std::size_t gpu = *actuator->knobs().find("gpu_mhz");
  kill(server_, SIGSTOP);
  EXPECT_EQ(actuator->write(gpu, 306'000), Progress::more) << "it may yet answer";
  EXPECT_TRUE(
      beat_until(*actuator, [&] { return actuator->write(gpu, 306'000) == Progress::away; }));
  EXPECT_EQ(actuator->take_complaint(), "") << "soon enough for the time that a mode may take";
  kill(server_, SIGCONT);
  EXPECT_TRUE(
      beat_until(*actuator, [&] { return actuator->write(gpu, 306'000) == Progress::done; }));
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), "306000000");
}

TEST_F(KnobServerTest, AWriteThatTheHelperHoldsBackForHeatIsAwayUntilThatEnds) {
  const std::string device = "/sys/class/thermal/cooling_device0";
  board_.put(device + "/type", "cpufreq-cpu0");
  board_.put(device + "/cur_state", "3");
  start();
  const auto actuator = connect();
  const std::size_t gpu = *actuator->knobs().find("gpu_mhz");
  EXPECT_TRUE(
      beat_until(*actuator, [&] { return actuator->write(gpu, 306'000) == Progress::away; }));
  EXPECT_NE(actuator->take_complaint().find("cpufreq-cpu0 at state 3"), std::string::npos);
  EXPECT_TRUE(says("heat slows the clocks down"));
  for (int tries = 0; tries < 20; ++tries) {
    EXPECT_EQ(actuator->write(gpu, 306'000), Progress::away) << "while it is asked again, too";
    actuator->await(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(actuator->take_complaint(), "") << "told once";
  board_.put(device + "/cur_state", "0");
  EXPECT_TRUE(
      beat_until(*actuator, [&] { return actuator->write(gpu, 306'000) == Progress::done; }));
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), "306000000");
}

TEST_F(KnobServerTest, ASecondClientIsToldWhoHasTheKnobs) {
  start();
  const auto actuator = connect();
  try {
    connect();
    FAIL() << "let in";
  } catch (const BusyError& error) {
    EXPECT_NE(std::string(error.what()).find("process " + std::to_string(getpid())),
              std::string::npos)
        << error.what();
  }
  apply(*actuator, "gpu_mhz", 306'000);
}

TEST_F(KnobServerTest, ADaemonThatSetsKnobsItselfIsNamed) {
  start();
  BoardActuator direct(description_, root_, {.journal = journal()});
  EXPECT_THROW(connect(), BusyError);
}

}  // namespace
}  // namespace gearshift
