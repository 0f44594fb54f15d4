#include "cli/prior_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

namespace gearshift {
namespace {

using testing::ElementsAre;

using Lines = std::vector<std::string>;

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

std::string mobilenet(const std::string& device, const std::string& one, const std::string& two,
                      const std::string& three) {
  const std::string start = device + ",mobilenet,train,";
  return start + one + '\n' + start + two + '\n' + start + three + '\n';
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
                                 "Jetson AGX Orin,resnet18,train,16,600,10,10\n"
                                 "Jetson AGX Orin,resnet18,train,16,900,7,10\n"
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
  EXPECT_EQ(useless(file, nullptr, {Kind::train}), Lines()) << "a board without a model";
}

TEST(PriorTables, AnotherWorkloadOrBoardTeachesAndAnotherKindDoesNot) {
  const auto board = built_in_board_model("jetson-agx-orin");
  for (const char* device : {"jetson-agx-orin", "orin_agx", "jetson-orin-nano"}) {
    const std::string file =
        table("prior_other.csv", mobilenet(device, "16,300,20,10", "16,600,10,20", "16,900,7,30"));
    EXPECT_EQ(useless(file, &*board, {Kind::train}), Lines()) << device;
    EXPECT_EQ(useless(file, &*board, {Kind::train, Kind::infer}), Lines()) << device;
    EXPECT_THAT(useless(file, &*board, {Kind::infer}), testing::SizeIs(1)) << device;
    EXPECT_THAT(useless(file, nullptr, {Kind::infer}), testing::SizeIs(1)) << device;
  }
}

TEST(PriorTables, ATableOfFewerSettingsThanAFitTakesIsTold) {
  const auto board = built_in_board_model("jetson-agx-orin");
  const std::string file = testing::TempDir() + "prior_few.csv";
  const std::string start = "jetson-agx-orin,lstm,train,16,";
  std::ofstream(file) << "device,workload,kind,batch_size,gpu_mhz,minibatch_ms,epoch_s,power_w\n"
                      << start << "300,20,,10\n"
                      << start << "600,10,,20\n"
                      << start << "900,,30,30\n";
  const auto told = ElementsAre(
      "--prior " + file +
      ": lstm (train) on jetson-agx-orin has 2 settings that count, and bayes and thompson need 3; "
      "what counts has the time of a minibatch, and no power limit held it down");
  EXPECT_THAT(useless(file, &*board, {Kind::train}), told);
  EXPECT_THAT(useless(file, &*board, {}), told);
  EXPECT_THAT(useless(file, nullptr, {Kind::train}), told) << "without a model";
  std::ofstream(file, std::ios::app) << start << "1300,5,,40\n";
  EXPECT_EQ(useless(file, &*board, {Kind::train}), Lines());
}

Lines misspelt(const std::string& file, const std::string& name) {
  ProfileFiles read;
  const Searched searched{name, Kind::train};
  return misspelt_priors({file}, read, {&searched, 1});
}

// It would be another workload's without a word, and of little use.
TEST(PriorTables, ANameThatIsNearlyThatOfTheWorkloadIsTold) {
  const std::string file =
      table("prior_misspelt.csv", mobilenet("orin", "16,300,20,10", "16,600,10,20", "16,900,7,30"));
  for (const char* name :
       {"MobileNet", "mobile_net", "mobilnet", "mobilenett", "mobilenat", "moblienet"}) {
    EXPECT_THAT(
        misspelt(file, name),
        ElementsAre("--prior " + file +
                    ": mobilenet (train) on orin is taken for another workload than " +
                    std::string(name) + "; where it is the same, give it that name in the file"));
  }
  for (const char* name : {"mobilenet", "mobilenet2", "mobilenet_v3", "resnet", "mob"}) {
    EXPECT_EQ(misspelt(file, name), Lines()) << name;
  }
}

TEST(PriorTables, OtherDigitsAreAnotherVersionAndTheVeryNameIsEnough) {
  const std::string rows =
      "orin,resnet18,train,16,300,20,10\n"
      "orin,resnet18,infer,16,300,20,10\n";
  const std::string file = table("prior_versions.csv", rows);
  EXPECT_EQ(misspelt(file, "resnet81").size(), 1u);
  EXPECT_EQ(misspelt(file, "resnet19"), Lines());
  EXPECT_EQ(misspelt(file, "resnet"), Lines());
  const std::string both = table("prior_both.csv", rows + "orin,resent18,train,16,300,20,10\n");
  EXPECT_EQ(misspelt(both, "resnet18"), Lines());
}

TEST(PriorTables, AnOwnPriorOfNothingThatIsJudgedIsTold) {
  const std::string rows = mobilenet("orin", "16,300,20,10", "16,600,10,20", "16,900,7,30");
  const std::string file = table("prior_own.csv", rows);
  EvaluationPriors priors({}, {file});
  Profile judged;
  judged.device = "orin";
  judged.workload = "mobilenet";
  const Profile* const all[] = {&judged};
  EXPECT_EQ(priors.warnings(all), Lines());
  judged.workload = "mobilenet_v3";
  EXPECT_THAT(priors.warnings(all),
              ElementsAre("--own-prior " + file +
                          ": no table of what is judged, so no policy sees it; it has mobilenet "
                          "(train) on orin, and judged is mobilenet_v3 (train) on orin"));
}

// Three trainings beside three servers are nine problems, and each names its two workloads.
TEST(PriorTables, AWarningComesOnceHoweverOftenAWorkloadIsJudged) {
  const std::string rows = mobilenet("orin", "16,300,20,10", "16,600,10,20", "16,900,7,30");
  const std::string file = table("prior_often.csv", rows);
  Profile here, there;
  here.device = "orin";
  there.device = "xavier";
  here.workload = there.workload = "mobilnet";
  const Profile* const judged[] = {&here, &there, &here};
  EvaluationPriors priors({file, file}, {file, file});
  EXPECT_THAT(priors.warnings(judged),
              ElementsAre(testing::EndsWith("judged is mobilnet (train) on orin, mobilnet (train) "
                                            "on xavier"),
                          testing::HasSubstr("is taken for another workload than mobilnet")));
  ProfileFiles read;
  const Searched searched[] = {{"mobilnet", Kind::train}, {"mobilnet", Kind::train}};
  EXPECT_EQ(misspelt_priors({file}, read, searched).size(), 1u);
}

// As the search judges it: these draw what the limit allows, whatever the workload demands.
TEST(PriorTables, ASettingThatAPowerLimitHeldDownDoesNotCount) {
  const std::string path = testing::TempDir() + "prior_limited.csv";
  std::ofstream(path) << "device,workload,kind,batch_size,power_limit_w,minibatch_ms,power_w\n"
                         "server,lstm,train,16,100,20,99\n"
                         "server,lstm,train,16,200,10,150\n"
                         "server,lstm,train,16,300,10,150\n";
  EXPECT_THAT(useless(path, nullptr, {Kind::train}),
              ElementsAre(testing::HasSubstr("lstm (train) on server has 2 settings that count")));
}

}  // namespace
}  // namespace gearshift
