#include "trace/irradiance_csv.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

std::string error(std::string_view text) {
  try {
    parse_irradiance(text, "day.csv");
  } catch (const CsvError& error) {
    return error.what();
  }
  return "no error";
}

TEST(IrradianceCsv, ReadsTimesAndIrradianceInAnyOrderOfColumns) {
  const auto day = parse_irradiance("x,ghi_w_m2,t_s\na,0,0\nb,512.5,60\n", "day.csv");
  ASSERT_EQ(day.size(), 2U);
  EXPECT_EQ(day[1].after, std::chrono::seconds(60));
  EXPECT_DOUBLE_EQ(day[1].w_m2, 512.5);
}

TEST(IrradianceCsv, NamesFileLineColumnAndValue) {
  EXPECT_NE(error("t_s\n0\n").find("column ghi_w_m2 is missing"), std::string::npos);
  EXPECT_NE(error("t_s,ghi_w_m2\n0,-1\n").find("day.csv:2: ghi_w_m2 = '-1'"), std::string::npos);
  EXPECT_NE(error("t_s,ghi_w_m2\n0,nan\n").find("'nan'"), std::string::npos);
  EXPECT_NE(error("t_s,ghi_w_m2\n0,2001\n").find("0 to 2000"), std::string::npos);
  EXPECT_NE(error("t_s,ghi_w_m2\n60,1\n60,2\n").find("day.csv:3: t_s = '60'"), std::string::npos);
  EXPECT_NE(error("t_s,ghi_w_m2\n0\n").find("1 fields"), std::string::npos);
  EXPECT_NE(error("t_s,ghi_w_m2\n").find("at least one line"), std::string::npos);
  EXPECT_NE(error("").find("names the columns"), std::string::npos);
}

}  // namespace
}  // namespace gearshift
