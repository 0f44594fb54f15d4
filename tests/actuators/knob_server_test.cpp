// KnobServer in a process of its own, and RemoteActuator here: the two sides of one socket.
#include "actuators/knob_server.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "actuators/board_actuator.h"
#include "actuators/knob_journal.h"
#include "actuators/remote_actuator.h"
#include "tests/fakes/directory_board.h"
#include "tests/fakes/file_mode.h"
#include "tests/fakes/proc_files.h"
#include "tests/fakes/ticking_clock.h"

namespace gearshift {
namespace {

using fakes::DirectoryBoard;

int told[2] = {-1, -1};
void tell(const std::string& text) {
  [[maybe_unused]] const ssize_t size = write(told[1], (text + '\n').data(), text.size() + 1);
}

class KnobServerTest : public testing::Test {
 protected:
  KnobServerTest() { EXPECT_EQ(pipe(told), 0); }
  ~KnobServerTest() override {
    if (server_ > 0) stop();
    close(told[0]);
    close(told[1]);
  }

  // Returns once it listens.
  void start(const std::function<void(KnobServerOptions&)>& change = {}) {
    int stop[2];
    ASSERT_EQ(pipe(stop), 0);
    stop_ = stop[1];
    server_ = fork();
    if (server_ == 0) {
      close(stop[1]);
      KnobServerOptions options{
          .socket = socket(), .journal = journal(), .user = geteuid(), .tell = tell};
      // Longer than a test takes, so that only the tests of patience see its end.
      options.patience = std::chrono::minutes(1);
      if (change) change(options);
      {
        KnobServer server(description_, root_, clock_, options);
        tell("ready");
        server.run(stop[0]);
      }
      _exit(0);
    }
    close(stop[0]);
    ASSERT_TRUE(says("ready"));
  }
  int stop() {
    close(stop_);
    return reap();
  }
  int reap() {
    int status = 0;
    EXPECT_EQ(waitpid(server_, &status, 0), server_);
    server_ = -1;
    return status;
  }

  // Reads what the server tells until a line has `text` in it.
  bool says(const std::string& text) {
    while (true) {
      const std::size_t end = heard_.find('\n');
      if (end != std::string::npos) {
        line_ = heard_.substr(0, end);
        heard_.erase(0, end + 1);
        turned_away_ += line_.find("was turned away") != std::string::npos ? 1 : 0;
        refusals_ += line_.find("was refused") != std::string::npos ? 1 : 0;
        if (line_.find(text) != std::string::npos) return true;
        continue;
      }
      pollfd item{.fd = told[0], .events = POLLIN, .revents = 0};
      if (poll(&item, 1, 20'000) <= 0) return false;
      std::array<char, 4096> chunk;
      const ssize_t size = read(told[0], chunk.data(), chunk.size());
      heard_.append(chunk.data(), static_cast<std::size_t>(std::max<ssize_t>(0, size)));
    }
  }

  std::unique_ptr<RemoteActuator> connect() {
    return std::make_unique<RemoteActuator>(socket(), "directory-board", clock_);
  }
  // As the controller does it, where each tick is woken by the answer.
  static void apply(RemoteActuator& actuator, std::string_view name, std::int64_t value) {
    const std::size_t knob = *actuator.knobs().find(name);
    for (int tries = 0; tries < 100; ++tries) {
      if (actuator.write(knob, value) == Progress::done) return;
      actuator.await(std::chrono::milliseconds(20));
    }
    ADD_FAILURE() << name << " is never done";
  }
  static void put(int descriptor, const KnobRequest& request) {
    const auto bytes = encode(request);
    ASSERT_EQ(send(descriptor, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  // Beats until `done` or for too long.
  bool beat_until(RemoteActuator& actuator, const std::function<bool()>& done) const {
    for (int tries = 0; tries < 2000; ++tries) {
      actuator.beat(clock_.time += std::chrono::milliseconds(60));
      if (done()) return true;
      actuator.await(std::chrono::milliseconds(10));
    }
    return false;
  }

  std::filesystem::path socket() const { return state_.at("/run/knobs.sock"); }
  std::filesystem::path journal() const { return state_.at("/state/knobs.journal"); }

  DirectoryBoard board_;
  fakes::TempTree state_;
  Sysroot root_{board_.root()};
  const BoardDescription description_ = board_.description();
  const fakes::TickingClock clock_;
  pid_t server_ = -1;
  int stop_ = -1;
  std::string heard_;
  std::string line_;
  int refusals_ = 0;  // told so far
  int turned_away_ = 0;
};

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

TEST_F(KnobServerTest, BytesThatAreNoRequestEndTheConnectionAndTheKnobsGoBack) {
  const auto before = board_.bytes();
  start();
  const int raw = connect_to(socket());
  put(raw, {.sequence = 1, .verb = KnobVerb::hello, .value = kKnobProtocolVersion});
  put(raw, {.sequence = 2, .verb = KnobVerb::write, .knob = 2, .value = 1'300'500});
  const std::array<char, kRequestBytes> noise{0, 0, 0, 0, 99};
  ASSERT_EQ(send(raw, noise.data(), noise.size(), 0), static_cast<ssize_t>(noise.size()));
  ASSERT_TRUE(says("no request"));
  ASSERT_TRUE(says("the knobs are as they were found"));
  close(raw);
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
}

TEST_F(KnobServerTest, RequestsBeyondTheirShareHaveToWait) {
  start([](KnobServerOptions& options) { options.requests_per_s = 1; });
  const int raw = connect_to(socket());
  put(raw, {.sequence = 1, .verb = KnobVerb::hello, .value = kKnobProtocolVersion});
  put(raw, {.sequence = 2, .verb = KnobVerb::write, .value = 99});
  pollfd item{.fd = raw, .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&item, 1, 20'000), 1) << "the welcome";
  EXPECT_EQ(stop(), 0);
  ASSERT_TRUE(says("this process ends"));
  EXPECT_EQ(refusals_, 0) << "the second one was not served yet";
  close(raw);
}

TEST_F(KnobServerTest, ConnectionsBeyondTheirShareHaveToWait) {
  start([](KnobServerOptions& options) { options.connections_per_s = 1; });
  const int first = connect_to(socket());
  ASSERT_TRUE(says("has the knobs"));
  const int second = connect_to(socket());
  put(first, {.sequence = 1, .verb = KnobVerb::hello, .value = kKnobProtocolVersion});
  pollfd item{.fd = first, .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&item, 1, 20'000), 1) << "the welcome";
  EXPECT_EQ(stop(), 0);
  ASSERT_TRUE(says("this process ends"));
  EXPECT_EQ(turned_away_, 0) << "nobody has looked at the second one yet";
  close(first);
  close(second);
}

TEST_F(KnobServerTest, AFloodIsToldOfOnceAndAnotherClientComesAfterIt) {
  start();
  const int raw = connect_to(socket());
  put(raw, {.sequence = 1, .verb = KnobVerb::hello, .value = kKnobProtocolVersion});
  for (int i = 0; i < 50; ++i) put(raw, {.sequence = 2, .verb = KnobVerb::write, .value = 99});
  ASSERT_TRUE(says("was refused: cpu_cores: 99 is none of its"));
  close(raw);
  ASSERT_TRUE(says("has gone"));
  EXPECT_EQ(refusals_, 1) << "the clock of this test hardly moves";
  EXPECT_NO_THROW(connect());
}

TEST_F(KnobServerTest, AClientThatReadsNothingIsCutOffAndTheKnobsGoBack) {
  start([](KnobServerOptions& options) { options.requests_per_s = 1'000'000; });
  const int raw = connect_to(socket());
  put(raw, {.sequence = 1, .verb = KnobVerb::hello, .value = kKnobProtocolVersion});
  const auto request = encode(KnobRequest{.sequence = 2, .verb = KnobVerb::write, .value = 99});
  bool cut = false;
  for (int tries = 0; !cut && tries < 100'000; ++tries) {
    pollfd item{.fd = raw, .events = POLLOUT, .revents = 0};
    poll(&item, 1, 20'000);
    cut = send(raw, request.data(), request.size(), MSG_NOSIGNAL) < 0 && errno == EPIPE;
  }
  EXPECT_TRUE(cut);
  close(raw);
  ASSERT_TRUE(says("the knobs are as they were found"));
}

TEST_F(KnobServerTest, TheSocketIsItsUsersAloneAndGoesWithTheServer) {
  start();
  EXPECT_EQ(fakes::mode_of(socket()), 0600u);
  EXPECT_THROW(PrivateSocket(socket(), geteuid()), BusyError) << "somebody listens";
  EXPECT_EQ(stop(), 0);
  EXPECT_FALSE(std::filesystem::exists(socket()));
  EXPECT_THROW(connect(), HelperError);
}

TEST_F(KnobServerTest, AnotherUserIsTurnedAway) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  start([](KnobServerOptions& options) { options.user = 65534; });
  ASSERT_EQ(::chmod(socket().c_str(), 0666), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setresuid(65533, 65533, 65533) != 0) _exit(2);
    try {
      connect();
      _exit(3);
    } catch (const std::runtime_error& error) {
      _exit(std::string(error.what()).find("user 65533 may not") != std::string::npos ? 0 : 4);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(KnobServerTest, TheBoardMustBeTheOneThatTheClientReads) {
  start();
  try {
    const RemoteActuator other(socket(), "jetson-nano", clock_);
    FAIL() << "let in";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("directory-board"), std::string::npos);
  }
}

}  // namespace
}  // namespace gearshift
