// What is told never waits for who reads it, and says what it left out.
#include "cli/outlet.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>

namespace gearshift {
namespace {

struct Ends {
  Ends() {
    if (pipe(both.data()) != 0) std::abort();
    fcntl(both[1], F_SETPIPE_SZ, 4096);
  }
  ~Ends() {
    close(both[0]);
    close(both[1]);
  }
  std::array<int, 2> both{};
};

// All that is there to be read now.
std::string drain(int descriptor) {
  fcntl(descriptor, F_SETFL, O_NONBLOCK);
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t size = 1; size > 0;) {
    size = read(descriptor, part.data(), part.size());
    if (size > 0) text.append(part.data(), static_cast<std::size_t>(size));
  }
  return text;
}

void tell_much(Outlet& out) {
  for (int i = 0; i < 1000; ++i)
    out.tell("line " + std::to_string(i) + std::string(100, '.') + "\n");
}

TEST(Outlet, LeavesOutWhatNobodyReadsAndSaysHowMuch) {
  Ends ends;
  Outlet out(ends.both[1]);
  tell_much(out);  // a write to a full pipe would wait for ever
  const auto missing = out.left_out();
  EXPECT_GT(missing, 900U);
  EXPECT_FALSE(out.await_room(0));

  const std::string before = drain(ends.both[0]);
  EXPECT_EQ(before.find("left out"), std::string::npos);
  EXPECT_EQ(before.back(), '\n') << "short lines are whole or not there";
  EXPECT_TRUE(out.await_room(0));
  out.tell("and on\n");
  EXPECT_EQ(drain(ends.both[0]),
            "left out: " + std::to_string(missing) + " lines that nobody read in time\nand on\n");
  EXPECT_EQ(out.left_out(), 0U);
}

TEST(Outlet, ALineThatWasCutIsEndedByTheNext) {
  Ends ends;
  Outlet out(ends.both[1],
             [](std::uint64_t lines) { return std::to_string(lines) + " missing\n"; });
  out.tell(std::string(10000, 'x') + "\n");
  EXPECT_EQ(drain(ends.both[0]), std::string(4096, 'x'));
  out.tell("next\n");
  EXPECT_EQ(drain(ends.both[0]), "\n1 missing\nnext\n");
}

TEST(Outlet, ATerminalThatIsHeldLetsNobodyWait) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(master, 0);
  ASSERT_EQ(grantpt(master), 0);
  ASSERT_EQ(unlockpt(master), 0);
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
  ASSERT_GE(slave, 0);
  {
    Outlet out(slave);
    ASSERT_EQ(tcflow(slave, TCOOFF), 0);  // Ctrl-S
    tell_much(out);
    EXPECT_EQ(out.left_out(), 1000U);
    EXPECT_EQ(tcflow(slave, TCOON), 0);
    tell_much(out);  // and one that nobody reads
    out.show("live");
    EXPECT_GT(out.left_out(), 0U);
  }
  EXPECT_NE(fcntl(slave, F_GETFL) & O_ACCMODE, O_RDONLY);
  EXPECT_EQ(fcntl(slave, F_GETFL) & O_NONBLOCK, 0) << "others share it";
  close(slave);
  close(master);
}

TEST(Outlet, ASocketThatNobodyReadsLetsNobodyWait) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  Outlet out(ends[1]);
  for (int i = 0; i < 20; ++i) tell_much(out);
  EXPECT_GT(out.left_out(), 0U);
  close(ends[0]);
  close(ends[1]);
}

TEST(Outlet, GoesOnWhereNothingCanBeWritten) {
  std::signal(SIGPIPE, SIG_IGN);
  Ends ends;
  Outlet gone(ends.both[1]);
  close(ends.both[0]);
  gone.tell("a line\n");
  EXPECT_EQ(gone.left_out(), 1U);
  std::signal(SIGPIPE, SIG_DFL);
  ends.both[0] = -1;

  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  Outlet disk(full);
  disk.tell("a line\n");
  EXPECT_EQ(disk.left_out(), 1U);
  close(full);
}

}  // namespace
}  // namespace gearshift
