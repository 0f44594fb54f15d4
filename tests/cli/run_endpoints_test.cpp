#include "cli/run_endpoints.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

std::string refusal(const RunOptions& options) {
  try {
    keys_of(options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

struct KeysOfAnEndpoint : testing::Test {
  KeysOfAnEndpoint() { options.listen = "tcp://0.0.0.0:5597"; }
  void expect_made_with(const std::string& flag) {
    const std::string told = refusal(options);
    for (const std::string command : {"server", "client NAME"}) {
      EXPECT_NE(told.find("gearshift keys " + command + flag), std::string::npos) << told;
    }
  }
  const fakes::TempTree tree;
  RunOptions options;
};

TEST_F(KeysOfAnEndpoint, AreMadeWhereTheDaemonLooksForThem) {
  options.state = tree.at("/state").string();
  expect_made_with(" --state " + options.state);
  options.keys = tree.at("/keys").string();
  expect_made_with(" --keys " + options.keys);
}

TEST_F(KeysOfAnEndpoint, AreMadeWithACommandThatAShellTakes) {
  options.state = tree.at("/my state").string();
  expect_made_with(" --state '" + options.state + "'");
}

}  // namespace
}  // namespace gearshift
