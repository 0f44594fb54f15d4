// A C++ interleaver to be made, beside a daemon that the test plays.
#pragma once

#include <chrono>

#include "bridge/client/gearshift_interleaver.hpp"
#include "tests/bridge/client_fixture.h"

namespace gearshift {

class InterleaverTest : public ClientTest {
 protected:
  InterleaverTest() {
    given.name = "lenet";
    given.latency = std::chrono::seconds(100);  // no machine is that slow
    given.batch_size = 4;
    given.endpoint = endpoint;
  }

  client::InterleaverOptions given;
};

}  // namespace gearshift
