// A control client's key, towards a daemon that refuses it.
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <zmq.hpp>

#include "bridge/control_client.h"
#include "bridge/key_files.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

// Keys have characters that a shell acts on.
TEST(ControlClient, ARefusedKeyIsInACommandThatAShellTakesAsItIs) {
  const fakes::TempTree tree;
  zmq::context_t context{1};
  const KeyPair pair = make_key_pair();
  const std::string path = tree.at("/drone7.key").string();
  write_key_file(path, {"drone7", pair, make_key_pair().public_key});  // another daemon's
  zmq::socket_t daemon(context, zmq::socket_type::router);
  daemon.set(zmq::sockopt::linger, 0);
  daemon.set(zmq::sockopt::curve_server, true);
  daemon.set(zmq::sockopt::curve_secretkey, make_key_pair().secret_key);
  daemon.bind("tcp://127.0.0.1:*");
  ControlClient client({daemon.get(zmq::sockopt::last_endpoint), path}, std::chrono::seconds(20));
  try {
    client.stop();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("authorise drone7 '" + pair.public_key + "'"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace gearshift
