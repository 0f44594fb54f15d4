#include "cli/prior_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

namespace gearshift {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kColumns = "device,workload,kind,batch_size,gpu_mhz,minibatch_ms,power_w\n";

std::string table(const std::string& name, const std::string& rows) {
  std::string path = testing::TempDir() + name;
  std::ofstream(path) << kColumns << rows;
  return path;
}

std::vector<std::string> useless(const std::string& file, const BoardModel* board,
                                 std::vector<Kind> kinds) {
  ProfileFiles read;
  return useless_priors({file}, read, "jetson-agx-orin", board, kinds);
}

TEST(PriorTables, AFileWithoutRowsIsRefused) {
  const std::string file = table("prior_header.csv", "");
  try {
    read_prior_tables({file});
    ADD_FAILURE() << "it was taken";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(), file + ": has no rows");
  }
}

TEST(PriorTables, ADeviceThatNobodyKnowsIsTold) {
  const auto board = built_in_board_model("jetson-agx-orin");
  const std::string file = table("prior_foreign.csv",
                                 "Jetson AGX Orin,resnet18,train,16,300,20,10\n"
                                 "Jetson AGX Orin,resnet18,infer,4,300,5,8\n");
  const std::string has =
      "it has resnet18 (train) on Jetson AGX Orin, resnet18 (infer) on Jetson AGX Orin";
  EXPECT_THAT(useless(file, &*board, {Kind::train}),
              ElementsAre("--prior " + file +
                          ": no table of train on jetson-agx-orin, or of another board that has a "
                          "model; " +
                          has));
  EXPECT_THAT(
      useless(file, &*board, {}),
      ElementsAre("--prior " + file +
                  ": no table of jetson-agx-orin, or of another board that has a model; " + has));
  EXPECT_THAT(useless(file, nullptr, {Kind::train}), IsEmpty()) << "a board without a model";
}

TEST(PriorTables, AnotherWorkloadOrBoardTeachesAndAnotherKindDoesNot) {
  const auto board = built_in_board_model("jetson-agx-orin");
  for (const char* device : {"jetson-agx-orin", "orin_agx", "jetson-orin-nano"}) {
    const std::string file =
        table("prior_other.csv", std::string(device) + ",mobilenet,train,16,300,20,10\n");
    EXPECT_THAT(useless(file, &*board, {Kind::train}), IsEmpty()) << device;
    EXPECT_THAT(useless(file, &*board, {Kind::train, Kind::infer}), IsEmpty()) << device;
    EXPECT_THAT(useless(file, &*board, {Kind::infer}), testing::SizeIs(1)) << device;
    EXPECT_THAT(useless(file, nullptr, {Kind::infer}), testing::SizeIs(1)) << device;
  }
}

}  // namespace
}  // namespace gearshift
