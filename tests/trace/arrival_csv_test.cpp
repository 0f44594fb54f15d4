#include "trace/arrival_csv.h"

#include <gtest/gtest.h>

#include <string>

namespace gearshift {
namespace {

using std::chrono::milliseconds;

std::string arrival_error(const std::string& text) {
  try {
    parse_arrival_times(text, "a.csv");
  } catch (const CsvError& error) {
    return error.what();
  }
  return "";
}

TEST(ArrivalCsv, ReadsTheTimesWhateverElseALineHolds) {
  const auto times = parse_arrival_times("tokens,t_s\n3,0.5\n4,0.5\n5,2\n", "a.csv");
  EXPECT_EQ(times,
            (std::vector<Duration>{milliseconds(500), milliseconds(500), milliseconds(2000)}));
}

TEST(ArrivalCsv, NamesLineAndValueOfWhatItRefuses) {
  EXPECT_EQ(arrival_error("t_s\n1\n-1\n"),
            "a.csv:3: t_s = '-1': must be seconds from 0 to 4000000000");
  EXPECT_NE(arrival_error("t_s\n1\nnan\n").find("a.csv:3"), std::string::npos);
  EXPECT_NE(arrival_error("t_s\n1\n4000000001\n").find("a.csv:3"), std::string::npos);
  EXPECT_EQ(arrival_error("t_s\n1\n4000000000\n"), "");
  EXPECT_NE(arrival_error("t_s\n2\n1\n").find("before the line above"), std::string::npos);
  EXPECT_NE(arrival_error("t_s,x\n2\n").find("1 fields"), std::string::npos);
  EXPECT_NE(arrival_error("x\n2\n").find("t_s is missing"), std::string::npos);
  EXPECT_NE(arrival_error("").find("a.csv:1"), std::string::npos);
}

TEST(ArrivalCsv, TakesTheDatesOfALogAsTheirGaps) {
  const auto times = parse_arrival_times("t_s\n1732720000.5\n1732720000.75\n1732720002\n", "a.csv");
  EXPECT_EQ(times[1] - times[0], milliseconds(250));
  EXPECT_EQ(times[2] - times[1], milliseconds(1250));
}

TEST(ArrivalCsv, AsksForTimeBetweenRequests) {
  EXPECT_NE(arrival_error("t_s\n1\n").find("at least two"), std::string::npos);
  EXPECT_NE(arrival_error("t_s\n1\n1\n").find("at least two"), std::string::npos);
}

}  // namespace
}  // namespace gearshift
