// Bare connections to a socket that takes three.
#include "bridge/connection_limit.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>
#include <vector>
#include <zmq.hpp>

#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

constexpr int kConnectionRounds =
    2000;  // of ten milliseconds: only a failure waits for all of them

class ConnectionLimitTest : public testing::Test {
 protected:
  ConnectionLimitTest() {
    router.set(zmq::sockopt::linger, 0);
    router.bind("ipc://" + path);
  }
  ~ConnectionLimitTest() override {
    for (const int one : connections) ::close(one);
  }
  void connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    connections.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(connections.back(), reinterpret_cast<sockaddr*>(&address), sizeof address),
              0);
  }
  bool shut(std::size_t i) const {
    pollfd one{connections[i], POLLRDHUP, 0};
    return ::poll(&one, 1, 0) == 1;
  }
  template <typename Condition>
  bool serve(Condition done) {
    for (int i = 0; i < kConnectionRounds; ++i) {
      zmq::pollitem_t item{limit.socket().handle(), 0, ZMQ_POLLIN, 0};
      zmq::poll(&item, 1, std::chrono::milliseconds(10));
      limit.enforce();
      if (done()) return true;
    }
    return false;
  }

  const fakes::TempTree tree;
  const std::string path = tree.at("/w.ipc").string();
  zmq::context_t context{1};
  zmq::socket_t router{context, zmq::socket_type::router};
  ConnectionLimit limit{context, router, 3};
  std::vector<int> connections;
};

TEST_F(ConnectionLimitTest, ShutsWhatIsBeyondAndKeepsWhoIsIn) {
  for (int i = 0; i < 5; ++i) connect();
  EXPECT_TRUE(serve([&] { return shut(3) && shut(4); }));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_FALSE(shut(i)) << i;
}

TEST_F(ConnectionLimitTest, GivesThePlaceOfWhoLeftToTheNext) {
  for (int i = 0; i < 4; ++i) connect();
  ASSERT_TRUE(serve([&] { return shut(3); }));
  ::close(connections[0]);
  connections.erase(connections.begin());
  // One that comes before the place is free is shut, and comes again, as clients do.
  EXPECT_TRUE(serve([&] {
    if (shut(connections.size() - 1)) {
      connect();
      return false;
    }
    char greeting = 0;
    return ::recv(connections.back(), &greeting, 1, MSG_DONTWAIT) == 1 &&
           !shut(connections.size() - 1);
  }));
}

TEST(MostConnections, LeaveDescriptorsForEverythingElse) {
  EXPECT_GE(most_connections(), 1u);
  EXPECT_LE(most_connections(), 128u);
}

}  // namespace
}  // namespace gearshift
