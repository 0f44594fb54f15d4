#include "cli/thermal_flag.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace gearshift {
namespace {

// The cap while a zone reads so hot, and the board draws 30 W.
std::optional<std::int64_t> cap_at(ThermalLimit& limit, double temperature_c) {
  Time now{};
  for (int i = 0; i < 40; ++i) {
    limit.read(
        {.quantity = Quantity::power, .state = ReadingState::ok, .value = 30'000, .taken = now});
    limit.read({.quantity = Quantity::temperature,
                .state = ReadingState::ok,
                .channel = 0,
                .value = static_cast<std::int64_t>(1000 * temperature_c),
                .taken = now});
    limit.limit(now);
    now += std::chrono::milliseconds(100);
  }
  return limit.power_mw(now);
}

const std::vector<ThermalZone> kZones = {{0, "tj-thermal", 99'000}, {1, "odd", std::nullopt}};

TEST(ThermalFlag, KeepsZonesThreeDegreesBelowWhereTheirTripsSlowTheBoard) {
  std::vector<std::string> findings;
  const auto limit = make_thermal_limit(make_thermal_plan("auto"), kZones, findings);
  ASSERT_NE(limit, nullptr);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0], "thermal: zone tj-thermal is kept below 96.0 C");
  EXPECT_NE(findings[1].find("zone odd has no trip points"), std::string::npos);
  EXPECT_LT(cap_at(*limit, 97).value_or(99'000), 30'000);
}

TEST(ThermalFlag, TakesATemperatureForAllZones) {
  std::vector<std::string> findings;
  const auto limit = make_thermal_limit(make_thermal_plan("70C"), kZones, findings);
  ASSERT_NE(limit, nullptr);
  EXPECT_EQ(findings.at(1), "thermal: zone odd is kept below 70.0 C");
}

TEST(ThermalFlag, IsNoLimitWhereItIsOffOrNothingIsToBeKept) {
  std::vector<std::string> findings;
  EXPECT_EQ(make_thermal_limit(make_thermal_plan("off"), kZones, findings), nullptr);
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(make_thermal_limit({}, {}, findings), nullptr);
  EXPECT_EQ(make_thermal_limit(make_thermal_plan("off"), {}, findings), nullptr);
}

TEST(ThermalFlag, ATemperatureIsRefusedWhereNothingReadsOne) {
  std::vector<std::string> findings;
  try {
    make_thermal_limit(make_thermal_plan("70C"), {}, findings);
    FAIL() << "it would be a limit that nothing keeps";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("--thermal 70C: nothing here reads"),
              std::string::npos);
  }
}

TEST(ThermalFlag, NamesTheFlagAndWhatIsAllowed) {
  for (const char* text : {"", "hot", "10C", "200C", "70"}) {
    try {
      make_thermal_plan(text);
      ADD_FAILURE() << text;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("--thermal"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("70C"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace gearshift
