#include "cli/units.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace gearshift {
namespace {

TEST(Units, TakeEnergiesWeightsAndRatesWithinTheirBounds) {
  EXPECT_EQ(parse_energy_j("2J"), 2);
  EXPECT_EQ(parse_energy_j("500 mJ"), 0.5);
  EXPECT_EQ(parse_energy_weight("0"), 0);
  EXPECT_EQ(parse_energy_weight("1"), 1);
  EXPECT_EQ(parse_rate("0.5"), 0.5);
  for (const char* text : {"", "0J", "2", "-2J", "2W", "infJ"}) {
    EXPECT_THROW(parse_energy_j(text), std::invalid_argument) << text;
  }
  for (const char* text : {"", "1.01", "-0.1", "50%", "nan", "1e-3"}) {
    EXPECT_THROW(parse_energy_weight(text), std::invalid_argument) << text;
  }
  for (const char* text : {"", "0", "-1", "60/s"}) {
    EXPECT_THROW(parse_rate(text), std::invalid_argument) << text;
  }
}

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Units, ReadsPowerInMilliwatts) {
  EXPECT_EQ(parse_power_mw("30W"), 30'000);
  EXPECT_EQ(parse_power_mw("25.5 W"), 25'500);
  EXPECT_EQ(parse_power_mw("800mW"), 800);
  EXPECT_EQ(parse_power_mw("1.2kW"), 1'200'000);
  EXPECT_EQ(parse_power_mw("0.0216W"), 22);  // to the nearest milliwatt
}

TEST(Units, BoundsPower) {
  EXPECT_EQ(parse_power_mw("10mW"), 10);
  EXPECT_EQ(parse_power_mw("100kW"), 100'000'000);
  EXPECT_THROW(parse_power_mw("0W"), std::invalid_argument);
  // As a cap 1 and 2 mW are words of the loop: the workloads would wait, or never.
  EXPECT_THROW(parse_power_mw("2mW"), std::invalid_argument);
  EXPECT_THROW(parse_power_mw("9.4mW"), std::invalid_argument);
  EXPECT_THROW(parse_power_mw("100000.001W"), std::invalid_argument);
}

TEST(Units, ACapMayBeNoneAndTheErrorSaysSo) {
  EXPECT_EQ(parse_cap_mw("30W"), 30'000);
  EXPECT_EQ(parse_cap_mw("none"), std::nullopt);
  for (const char* text : {"None", "NONE", "0W", ""}) {
    try {
      parse_cap_mw(text);
      ADD_FAILURE() << text;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("or none to lift the cap"), std::string::npos)
          << error.what();
    }
  }
}

TEST(Units, ReadsDurations) {
  EXPECT_EQ(parse_duration("100ms"), milliseconds(100));
  EXPECT_EQ(parse_duration("60s"), seconds(60));
  EXPECT_EQ(parse_duration("1.5 s"), milliseconds(1500));
  EXPECT_EQ(parse_duration("5m"), minutes(5));
  EXPECT_EQ(parse_duration("2h"), hours(2));
  EXPECT_EQ(parse_duration("0s"), Duration::zero());
}

TEST(Units, BoundsDurations) {
  EXPECT_EQ(parse_duration("8784h"), hours(8784));
  EXPECT_THROW(parse_duration("8785h"), std::invalid_argument);
}

TEST(Units, ReadsPercent) {
  EXPECT_DOUBLE_EQ(parse_percent("12.5 %"), 12.5);
  EXPECT_DOUBLE_EQ(parse_percent("100%"), 100);
  EXPECT_THROW(parse_percent("100.1%"), std::invalid_argument);
}

TEST(Units, RefusesWhatIsNoQuantity) {
  for (const char* text :
       {"", "W", "30", "30 w", "30  W", " 30W", "30W ", "-30W", "+30W", "3e1W", "0x1eW", "infW",
        "nanW", ".5W", "30WW", "30,5W", "30V", "999999999999999999999999999999999999999W"}) {
    EXPECT_THROW(parse_power_mw(text), std::invalid_argument) << text;
  }
  EXPECT_THROW(parse_duration("5 minutes"), std::invalid_argument);
  EXPECT_THROW(parse_duration("-1s"), std::invalid_argument);
  EXPECT_THROW(parse_percent("50"), std::invalid_argument);
}

TEST(Units, NamesTheValueAndWhatIsAllowed) {
  try {
    parse_power_mw("30 watts");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("'30 watts'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("25.5W"), std::string::npos) << error.what();
  }
}

TEST(Units, TakeALatencyAboveZero) {
  EXPECT_EQ(parse_latency("100ms"), std::chrono::milliseconds(100));
  EXPECT_THROW(parse_latency("0ms"), std::invalid_argument);
  EXPECT_THROW(parse_latency("100"), std::invalid_argument);
}

}  // namespace
}  // namespace gearshift
