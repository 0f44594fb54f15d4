// When the C++ client's socket connects anew.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "bridge/client/gearshift_socket.hpp"
#include "tests/fakes/temp_tree.h"

namespace gearshift::client::detail {
namespace {

class ClientSocket : public testing::Test {
 protected:
  ClientSocket() {
    daemon.set(zmq::sockopt::rcvtimeo, 500);  // ms
    daemon.set(zmq::sockopt::linger, 0);
    daemon.bind(endpoint);
  }
  // A message to the daemon; returns by which connection it came, and tries again where it is lost
  // with one that ends.
  std::string say() {
    zmq::message_t frame;
    for (int tries = 0; tries < 2000; ++tries) {
      if (!socket.send("x", 1)) {
        socket.wait(std::chrono::milliseconds(10));  // it connects in the background
      } else if (daemon.recv(identity) && daemon.recv(frame)) {
        return identity.to_string();
      }
    }
    throw std::runtime_error("no message comes");
  }
  void answer() {
    daemon.send(zmq::const_buffer(identity.data(), identity.size()), zmq::send_flags::sndmore);
    daemon.send(zmq::const_buffer("y", 1), zmq::send_flags::none);
    zmq::message_t frame;
    for (int tries = 0; !socket.receive(frame); ++tries) {
      if (tries == 2000) throw std::runtime_error("no answer");
      socket.wait(std::chrono::milliseconds(10));
    }
  }
  void connect() { socket.connect(endpoint, "", std::chrono::seconds(1)); }

  const fakes::TempTree tree;
  const std::string endpoint = "ipc://" + tree.at("/workloads.ipc").string();
  zmq::context_t context{1};
  zmq::socket_t daemon{context, zmq::socket_type::router};
  zmq::message_t identity;
  DaemonSocket socket;
};

TEST_F(ClientSocket, ConnectsAnewWhereThreeMessagesHadNoAnswer) {
  connect();
  const std::string first = say();
  connect();
  say();
  connect();
  EXPECT_EQ(say(), first);
  connect();
  std::string second = say();
  for (int tries = 0; second == first && tries < 40; ++tries) second = say();
  EXPECT_NE(second, first);
  answer();
  for (int i = 0; i < 5; ++i) {
    connect();
    EXPECT_EQ(say(), second);
    answer();
  }
}

}  // namespace
}  // namespace gearshift::client::detail
