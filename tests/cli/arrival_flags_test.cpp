#include "cli/arrival_flags.h"

#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace gearshift {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TEST(ArrivalFlags, TakeEachPattern) {
  EXPECT_EQ(parse_arrivals("poisson:60").rate_per_s, 60);
  const ArrivalSpec mmpp = parse_arrivals("mmpp:30,180,20s");
  EXPECT_EQ(mmpp.pattern, ArrivalPattern::mmpp);
  EXPECT_EQ(mmpp.rate_per_s, 30);
  EXPECT_EQ(mmpp.highest_rate_per_s, 180);
  EXPECT_EQ(mmpp.period, seconds(20));
  const ArrivalSpec day = parse_arrivals("day:20,90,24h");
  EXPECT_EQ(day.pattern, ArrivalPattern::day);
  EXPECT_EQ(day.period, hours(24));
}

TEST(ArrivalFlags, TakeARecordedTrace) {
  const std::string path = testing::TempDir() + "arrival_flags.csv";
  std::ofstream(path) << "t_s\n0\n1\n3\n";
  const ArrivalSpec spec = parse_arrivals("trace:" + path + ",60");
  EXPECT_EQ(spec.pattern, ArrivalPattern::trace);
  EXPECT_EQ(spec.times.size(), 3u);
  EXPECT_EQ(spec.rate_per_s, 60);
  EXPECT_THROW(parse_arrivals("trace:/nowhere.csv,60"), std::runtime_error);
}

TEST(ArrivalFlags, TakeBurstsBehindAnyPattern) {
  const ArrivalSpec spec = parse_arrivals("poisson:60,x3@150s+30s,x0@200s+1s");
  ASSERT_EQ(spec.bursts.size(), 2u);
  EXPECT_EQ(spec.bursts[0].factor, 3);
  EXPECT_EQ(spec.bursts[0].begin, Time{} + seconds(150));
  EXPECT_EQ(spec.bursts[0].length, seconds(30));
  EXPECT_EQ(spec.bursts[1].factor, 0);
}

TEST(ArrivalFlags, RefuseWhatIsNoPatternAndSayWhatIs) {
  for (const char* text :
       {"", "poisson", "poisson:", "poisson:-1", "poisson:1e3", "poisson:1000001", "uniform:60",
        "mmpp:30,180", "mmpp:180,30,20s", "mmpp:30,180,99ms", "day:1,2,3", "trace:60",
        "poisson:60,", "poisson:60,3@1s+1s", "poisson:60,x3@1s", "poisson:60,x3+1s@1s"}) {
    EXPECT_THROW(parse_arrivals(text), std::invalid_argument) << text;
  }
  EXPECT_EQ(parse_arrivals("poisson:1000000").rate_per_s, 1e6);
  for (const char* text : {"poisson:60,x1000000@0s+1h", "mmpp:30,600000,20s,x2@5s+1s",
                           "day:30,600000,24h,x2@5s+1s", "poisson:600000,x1.5@1s+10s,x1.5@2s+1s"}) {
    EXPECT_THROW(parse_arrivals(text), std::invalid_argument) << text;
  }
  EXPECT_EQ(parse_arrivals("poisson:500000,x2@0s+1s,x2@1s+1s").bursts.size(), 2u) << "no overlap";
  EXPECT_EQ(parse_arrivals("mmpp:30,30,100ms").period, std::chrono::milliseconds(100));
}

// Silence between bursts is a pattern, silence for good is none.
TEST(ArrivalFlags, RefuseARateAtWhichNoRequestsCome) {
  const std::string path = testing::TempDir() + "arrivals_of_no_rate.csv";
  std::ofstream(path) << "t_s\n0\n1\n3\n";
  for (const std::string& text : std::vector<std::string>{"poisson:0", "mmpp:0,0,5s", "day:0,0,24h",
                                                          "trace:" + path + ",0"}) {
    try {
      parse_arrivals(text);
      ADD_FAILURE() << text;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(error.what(), "--arrivals '" + text + "': no requests come; give a rate above 0");
    }
  }
  EXPECT_THROW(parse_arrivals("poisson:0.0009"), std::invalid_argument);
  EXPECT_EQ(parse_arrivals("poisson:0.001").rate_per_s, 1e-3);
  EXPECT_EQ(parse_arrivals("mmpp:0,60,5s").rate_per_s, 0);
  EXPECT_EQ(parse_arrivals("day:0,90,24h").highest_rate_per_s, 90);
  EXPECT_THROW(parse_arrivals("mmpp:0,0.001,5s"), std::invalid_argument);
}

}  // namespace
}  // namespace gearshift
