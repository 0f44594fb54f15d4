// The example at the head of the C++ client's header compiles as it stands, without a warning.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "bridge/client/gearshift.hpp"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

using std::chrono::nanoseconds;

int use(std::int32_t) { return 0; }
int minibatches_run = 0;
void train_one() { ++minibatches_run; }

void example(int minibatches, std::uint32_t epoch, nanoseconds elapsed, nanoseconds fetch_stall,
             nanoseconds compute) {
  gearshift::client::Workload workload(
      {"resnet18", gearshift::client::Kind::train, 16, {8, 16, 32}});
  for (int trained = 0; trained < minibatches;) {
    if (workload.poll()) {
      use(workload.wanted().batch_size);
      workload.applied();
    }
    if (!workload.runs()) {
      workload.wait(std::chrono::seconds(1));
      continue;
    }
    train_one();
    ++trained;
    workload.minibatch(epoch, elapsed, fetch_stall, compute);
  }
}

// Without what stands before each line.
std::string lines_after(const std::string& path, const std::string& before, const char* first,
                        const char* last) {
  std::ifstream file(std::string(GEARSHIFT_SOURCE_DIR) + path);
  std::string text;
  bool within = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(before, 0) != 0) continue;
    line.erase(0, before.size());
    within = within || line.rfind(first, 0) == 0;
    if (within) text += line + "\n";
    if (within && line == last) return text;
  }
  return "no example in " + path;
}

TEST(ClientExample, IsThatOfTheHeader) {
  constexpr const char* kFirst = "gearshift::client::Workload workload(";
  EXPECT_EQ(lines_after("/bridge/client/gearshift.hpp", "//   ", kFirst, "}"),
            lines_after("/tests/bridge/client_example_test.cpp", "  ", kFirst, "}"));
}

TEST(ClientExample, TrainsWithoutADaemon) {
  const fakes::TempTree tree;
  ::setenv("GEARSHIFT_ENDPOINT", ("ipc://" + tree.at("/nobody.ipc").string()).c_str(), 1);
  example(3, 0, nanoseconds(3), nanoseconds(1), nanoseconds(2));
  ::unsetenv("GEARSHIFT_ENDPOINT");
  EXPECT_EQ(minibatches_run, 3);
}

}  // namespace
}  // namespace gearshift
