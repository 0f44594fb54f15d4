// Who connects to a KnobServer, and what it does with those who should not.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "actuators/knob_journal.h"
#include "actuators/knob_server.h"
#include "actuators/remote_actuator.h"
#include "tests/fakes/file_mode.h"
#include "tests/fakes/running_knob_server.h"

namespace gearshift {
namespace {

class KnobServerClientsTest : public fakes::RunningKnobServer {};

TEST_F(KnobServerClientsTest, BytesThatAreNoRequestEndTheConnectionAndTheKnobsGoBack) {
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

TEST_F(KnobServerClientsTest, RequestsBeyondTheirShareHaveToWait) {
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

TEST_F(KnobServerClientsTest, ConnectionsBeyondTheirShareHaveToWait) {
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

TEST_F(KnobServerClientsTest, AFloodIsToldOfOnceAndAnotherClientComesAfterIt) {
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

TEST_F(KnobServerClientsTest, AClientThatReadsNothingIsCutOffAndTheKnobsGoBack) {
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

TEST_F(KnobServerClientsTest, TheSocketIsItsUsersAloneAndGoesWithTheServer) {
  start();
  EXPECT_EQ(fakes::mode_of(socket()), 0600u);
  EXPECT_THROW(PrivateSocket(socket(), geteuid()), BusyError) << "somebody listens";
  EXPECT_EQ(stop(), 0);
  EXPECT_FALSE(std::filesystem::exists(socket()));
  EXPECT_THROW(connect(), HelperError);
}

TEST_F(KnobServerClientsTest, AnotherUserIsTurnedAway) {
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

TEST_F(KnobServerClientsTest, TheBoardMustBeTheOneThatTheClientReads) {
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
