// The C++ client's key, towards a daemon that refuses it, at first or for good.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "bridge/client/gearshift.hpp"
#include "bridge/connection_limit.h"
#include "bridge/key_files.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

constexpr int kKeyRounds = 1000;  // of twenty milliseconds: only a failure waits for all of them

// Answers libzmq's question whether a key is let in, where one waits. True where it did.
bool answer_handshake(zmq::socket_t& door, const std::string& code) {
  std::vector<std::string> request;
  zmq::message_t part;
  do {
    if (!door.recv(part, zmq::recv_flags::dontwait)) return false;
    request.push_back(part.to_string());
  } while (part.more());
  const std::vector<std::string> answer = {"1.0", request.at(1), code, "", "", ""};
  for (std::size_t i = 0; i < answer.size(); ++i) {
    door.send(zmq::buffer(answer[i]),
              i + 1 < answer.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }
  return true;
}

TEST(ClientKey, ThatIsLetInLaterIsTriedAgainAndThatItIsRefusedIsTold) {
  const fakes::TempTree tree;
  const KeyPair server = make_key_pair();
  const KeyPair pair = make_key_pair();
  write_key_file(tree.at("/lenet.key"), {"lenet", pair, server.public_key});
  zmq::context_t context{1};
  zmq::socket_t door(context, zmq::socket_type::rep);
  door.bind("inproc://zeromq.zap.01");
  zmq::socket_t daemon(context, zmq::socket_type::router);
  daemon.set(zmq::sockopt::linger, 0);
  daemon.set(zmq::sockopt::curve_server, true);
  daemon.set(zmq::sockopt::curve_secretkey, server.secret_key);
  daemon.set(zmq::sockopt::zap_domain, "workloads");
  daemon.bind("tcp://127.0.0.1:*");

  client::Options options;
  options.name = "lenet";
  options.endpoint = daemon.get(zmq::sockopt::last_endpoint);
  options.key = tree.at("/lenet.key").string();
  client::Workload workload(options);
  int asked = 0;
  bool heard = false;
  std::string told;
  for (int i = 0; i < kKeyRounds && !heard; ++i) {
    zmq::pollitem_t items[] = {{door.handle(), 0, ZMQ_POLLIN, 0},
                               {daemon.handle(), 0, ZMQ_POLLIN, 0}};
    zmq::poll(items, 2, std::chrono::milliseconds(20));
    asked += answer_handshake(door, asked == 0 ? "400" : "200") ? 1 : 0;
    zmq::message_t part;
    heard = daemon.recv(part, zmq::recv_flags::dontwait).has_value();
    const std::string message = workload.take_message();
    if (!message.empty()) told = message;
  }
  EXPECT_TRUE(heard);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(told, "the daemon at " + options.endpoint +
                      " refuses the key of client lenet: its operator lets the client in with "
                      "gearshift keys authorise lenet '" +
                      pair.public_key + "'");
}

// Greets as a daemon of this mechanism does, and then waits for ever: of one that hangs up at once
// libzmq may read the greeting or not. https://rfc.zeromq.org/spec/23/
void greet(zmq::socket_t& stream, const std::string& mechanism) {
  zmq::message_t from;
  zmq::message_t bytes;
  while (stream.recv(from, zmq::recv_flags::dontwait) &&
         stream.recv(bytes, zmq::recv_flags::dontwait)) {
    if (!bytes.empty()) continue;  // not of a new connection
    std::string greeting = "\xff" + std::string(8, '\0') + "\x7f\x03";
    greeting += '\0' + mechanism;
    greeting.resize(64, '\0');
    // Who has hung up meanwhile takes nothing, and would be waited for.
    const auto to = zmq::send_flags::sndmore | zmq::send_flags::dontwait;
    if (!stream.send(from, to)) continue;
    stream.send(zmq::buffer(greeting), zmq::send_flags::none);
  }
}

// What the socket tells of a daemon that lets in who has its key, and of nobody else.
class ClientKeySocket : public testing::Test {
 protected:
  ClientKeySocket() {
    daemon.set(zmq::sockopt::linger, 0);
    daemon.set(zmq::sockopt::curve_server, true);
    daemon.set(zmq::sockopt::curve_secretkey, server.secret_key);
    daemon.bind("tcp://127.0.0.1:*");
    endpoint = daemon.get(zmq::sockopt::last_endpoint);
  }
  // The first that is told, with this key file; empty where `rounds` of handshakes pass.
  std::string told(
      const std::string& key, const std::function<void()>& meanwhile = [] {},
      int rounds = kKeyRounds) {
    std::string text;
    for (int i = 0; i < rounds && text.empty(); ++i) {
      const std::chrono::seconds now{10 * ++looks};
      socket.connect(endpoint, key, now);
      socket.wait(std::chrono::milliseconds(10));
      meanwhile();
      socket.wait(std::chrono::milliseconds(10));
      text = socket.disconnect_if_stuck(now + std::chrono::seconds(5));
    }
    return text;
  }
  // Of a daemon that lets the handshake go no further than to the client's first bytes.
  std::string closed() const {
    return "the daemon at " + endpoint +
           " closes the connection before it has seen the key of client drone7: it has another key "
           "than the key file's server line (gearshift keys list shows it there), uses none, or "
           "holds as many connections as it takes, 128 at most";
  }
  // Looks for one that greets with this mechanism: what told() does meanwhile.
  std::function<void()> greeted_as(const std::string& mechanism) {
    greeter.set(zmq::sockopt::linger, 0);
    greeter.bind("tcp://127.0.0.1:*");
    endpoint = greeter.get(zmq::sockopt::last_endpoint);
    return [this, mechanism] { greet(greeter, mechanism); };
  }
  // A client's key file that names a daemon of this key.
  std::string key_file(const std::string& server_key) {
    std::string path = tree.at("/drone7.key");
    write_key_file(path, {"drone7", pair, server_key});
    return path;
  }

  const fakes::TempTree tree;
  const KeyPair server = make_key_pair();
  const KeyPair pair = make_key_pair();
  zmq::context_t context{1};
  zmq::socket_t daemon{context, zmq::socket_type::router};
  zmq::socket_t greeter{context, zmq::socket_type::stream};
  std::string endpoint;
  client::detail::DaemonSocket socket;
  int looks = 0;
};

TEST_F(ClientKeySocket, ThatAnotherDaemonsKeyIsInTheFileIsNamedAsACause) {
  const std::string key = key_file(make_key_pair().public_key);
  EXPECT_EQ(told(key), closed());
}

TEST_F(ClientKeySocket, ThatTheDaemonIsFullIsNamedAsACause) {
  zmq::socket_t door(context, zmq::socket_type::rep);  // is not asked, and so lets nobody in before
  door.bind("inproc://zeromq.zap.01");
  zmq::socket_t full(context, zmq::socket_type::router);
  full.set(zmq::sockopt::linger, 0);
  full.set(zmq::sockopt::curve_server, true);
  full.set(zmq::sockopt::curve_secretkey, server.secret_key);
  ConnectionLimit limit(context, full, 0);
  full.bind("tcp://127.0.0.1:*");
  endpoint = full.get(zmq::sockopt::last_endpoint);
  EXPECT_EQ(told(key_file(server.public_key), [&] { limit.enforce(); }), closed());
}

TEST_F(ClientKeySocket, WithAKeyAtADaemonThatUsesNoneIsNotToldThatItIsRefused) {
  const std::string text = told(key_file(server.public_key), greeted_as("NULL"));
  EXPECT_EQ(text, "the daemon at " + endpoint +
                      " uses no keys, and lets in nobody who has one: give the client none "
                      "(GEARSHIFT_KEY), or start the daemon with --keys");
}

TEST_F(ClientKeySocket, WithoutAKeyIsToldThatTheDaemonWantsOne) {
  const std::string text = told("", greeted_as("CURVE"));
  EXPECT_EQ(text,
            "the daemon at " + endpoint +
                " wants a key: gearshift keys client NAME there, and GEARSHIFT_KEY=FILE here");
}

TEST_F(ClientKeySocket, WithoutAKeyThatItIsClosedAtOnceIsNoSilence) {
  const std::string text = told("");
  EXPECT_EQ(text.rfind("the daemon at " + endpoint, 0), 0U) << text;
  const std::string wish =
      " wants a key: gearshift keys client NAME there, and GEARSHIFT_KEY=FILE here";
  ASSERT_GE(text.size(), wish.size());
  EXPECT_EQ(text.substr(text.size() - wish.size()), wish);
}

TEST_F(ClientKeySocket, AtADaemonThatWantsNoneNothingIsTold) {
  zmq::socket_t open(context, zmq::socket_type::router);
  open.set(zmq::sockopt::linger, 0);
  open.bind("tcp://127.0.0.1:*");
  endpoint = open.get(zmq::sockopt::last_endpoint);
  EXPECT_EQ(told(
                "", [] {}, 5),
            "");
}

}  // namespace
}  // namespace gearshift
