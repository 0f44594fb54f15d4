// A control client's key, towards daemons that do not let it in.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "bridge/control_client.h"
#include "bridge/key_files.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

constexpr int kGiveUpMs = 20'000;  // generous: only a failure waits for it

// Refuses the next key that libzmq asks it for.
void refuse_key(zmq::socket_t& door) {
  std::vector<std::string> request;
  zmq::message_t part;
  do {
    if (!door.recv(part)) return;
    request.push_back(part.to_string());
  } while (part.more());
  const std::vector<std::string> answer = {"1.0", request.at(1), "400", "", "", ""};
  for (std::size_t i = 0; i < answer.size(); ++i) {
    door.send(zmq::buffer(answer[i]),
              i + 1 < answer.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }
}

class ControlKey : public testing::Test {
 protected:
  ControlKey() { daemon.set(zmq::sockopt::linger, 0); }
  // The daemon has this key from now on.
  void use_key() {
    daemon.set(zmq::sockopt::curve_server, true);
    daemon.set(zmq::sockopt::curve_secretkey, server.secret_key);
    daemon.set(zmq::sockopt::zap_domain, "control");
  }
  // What a client is told whose key file names a daemon of `server_key`.
  std::string told(const std::string& server_key) {
    const std::string path = tree.at("/drone7.key").string();
    write_key_file(path, {"drone7", pair, server_key});
    daemon.bind("tcp://127.0.0.1:*");
    endpoint = daemon.get(zmq::sockopt::last_endpoint);
    ControlClient client({endpoint, path}, std::chrono::milliseconds(kGiveUpMs));
    try {
      client.stop();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  const fakes::TempTree tree;
  const KeyPair server = make_key_pair();
  const KeyPair pair = make_key_pair();
  zmq::context_t context{1};
  zmq::socket_t daemon{context, zmq::socket_type::router};
  std::string endpoint;
};

// Keys have characters that a shell acts on.
TEST_F(ControlKey, ThatIsRefusedIsInACommandThatAShellTakesAsItIs) {
  zmq::socket_t door(context, zmq::socket_type::rep);
  door.set(zmq::sockopt::rcvtimeo, kGiveUpMs);
  door.bind("inproc://zeromq.zap.01");
  use_key();
  const auto refused = std::async(std::launch::async, [&] { refuse_key(door); });
  const std::string text = told(server.public_key);
  EXPECT_EQ(text, "the daemon at " + endpoint +
                      " refused the key of client drone7: its operator lets the client in with "
                      "gearshift keys authorise drone7 '" +
                      pair.public_key + "'");
}

TEST_F(ControlKey, ThatAnotherDaemonsIsInTheFileIsNamedAsACause) {
  use_key();
  const std::string text = told(make_key_pair().public_key);
  EXPECT_EQ(text,
            "the daemon at " + endpoint +
                " closed the connection before it had seen the key of client drone7: it has "
                "another key than the key file's server line (gearshift keys list shows it there), "
                "uses none, or holds as many connections as it takes, 128 at most");
}

TEST_F(ControlKey, IsNotToldToBeRefusedByADaemonThatUsesNone) {
  const std::string text = told(server.public_key);
  EXPECT_TRUE(text.find(" uses no keys, and lets in nobody who has one: leave out --key and "
                        "GEARSHIFT_KEY, or start the daemon with --keys") != std::string::npos ||
              text.find(" closed the connection before") != std::string::npos)  // before it is read
      << text;
}

}  // namespace
}  // namespace gearshift
