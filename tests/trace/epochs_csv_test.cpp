#include "trace/epochs_csv.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

constexpr const char* kHeader =
    "dataset,network,optimizer,batch_size,learning_rate,target_metric,runs,epochs\n";

std::string epochs_error(const std::string& line) {
  try {
    parse_epochs(kHeader + line, "epochs.csv");
  } catch (const CsvError& error) {
    return error.what();
  }
  return "";
}

TEST(EpochsCsv, ReadsRunsAndThoseThatMissed) {
  const auto rows =
      parse_epochs(std::string(kHeader) + "cifar,net,adam,128,1e-1,0.6,3,18 nan 20.0\n", "e.csv");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].workload(), "cifar-net-adam");
  EXPECT_EQ(rows[0].batch_size, 128);
  EXPECT_DOUBLE_EQ(rows[0].target_metric, 0.6);
  const std::vector<std::optional<std::uint32_t>> runs = {18, std::nullopt, 20};
  EXPECT_EQ(rows[0].epochs, runs);
}

TEST(EpochsCsv, NamesWhatIsWrongAndWhere) {
  EXPECT_EQ(epochs_error("a,b,c,8,1,0.6,2,18 20\n"), "");
  EXPECT_EQ(epochs_error("a,b,c,0,1,0.6,1,18\n"),
            "epochs.csv:2: batch_size = '0': must be a whole number from 1 to 1000000");
  EXPECT_NE(epochs_error("a,b,c,8,1,0.6,3,18 20\n").find("runs = '3'"), std::string::npos);
  EXPECT_NE(epochs_error("a,b,c,8,1,0.6,1,\n").find("epochs = ''"), std::string::npos);
  EXPECT_NE(epochs_error("a,b,c,8,1,0.6,1,0\n").find("epochs = '0'"), std::string::npos);
  EXPECT_NE(epochs_error("a,b,c,8,1,0.6,1,1.5\n").find("epochs = '1.5'"), std::string::npos);
  EXPECT_NE(epochs_error("a,b,c,8,1,inf,1,1\n").find("target_metric = 'inf'"), std::string::npos);
  EXPECT_NE(epochs_error("a,b,c,8,1\n").find("the line has 5 fields"), std::string::npos);
  EXPECT_NE(epochs_error("a,b,c,8,1,0.6,1,1\na,b,c,8,2,0.6,1,1\n").find("epochs.csv:3"),
            std::string::npos);
}

TEST(EpochsCsv, RefusesAHeaderThatLacksAColumnOrHasAnother) {
  EXPECT_THROW(parse_epochs("", "e.csv"), CsvError);
  EXPECT_THROW(parse_epochs("dataset,network\n", "e.csv"), CsvError);
  EXPECT_THROW(parse_epochs(std::string("more,") + kHeader, "e.csv"), CsvError);
}

}  // namespace
}  // namespace gearshift
