#include "cli/thermal_flag.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <tuple>

namespace gearshift {
namespace {

// The cap from `now` on, while a zone reads so hot, and the board draws 30 W.
std::optional<std::int64_t> cap_at(ThermalLimit& limit, double temperature_c, Time now = {}) {
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

const std::vector<ThermalZone> kZones = {{0, "tj-thermal", 99'000, {}},
                                         {1, "odd", std::nullopt, {}}};

TEST(ThermalFlag, KeepsZonesThreeDegreesBelowWhereTheirTripsSlowTheBoard) {
  std::vector<std::string> findings;
  const auto limit =
      make_thermal_limit(make_thermal_plan("auto"), ZoneNames::known, kZones, findings);
  ASSERT_NE(limit, nullptr);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0], "thermal: zone tj-thermal is kept below 96.0 C");
  EXPECT_NE(findings[1].find("zone odd has no trip points"), std::string::npos);
  EXPECT_LT(cap_at(*limit, 97).value_or(99'000), 30'000);
}

// What ACPI of machines without such a sensor has for a temperature, from a zone with a trip.
std::vector<ThermalZone> zone_that_shows(std::int64_t value_mc, ReadingState state) {
  return {{0,
           "acpitz",
           119'000,
           {.quantity = Quantity::temperature, .state = state, .value = value_mc}}};
}

// Whether a zone that never tells a temperature brings the lowest mode.
bool is_danger(ThermalLimit& limit) {
  limit.limit(Time{});
  limit.limit(Time{} + std::chrono::seconds(11));
  return limit.lost(0, Time{} + std::chrono::seconds(11));
}

TEST(ThermalFlag, AGuessedZoneIsGuardedOnceItTellsATemperature) {
  for (const auto& [value_mc, state, told] :
       {std::tuple{-263'200L, ReadingState::absurd, "shows -263200 (milli-degrees)"},
        std::tuple{0L, ReadingState::ok, "shows 0 (milli-degrees)"},
        std::tuple{0L, ReadingState::missing, "cannot be read"}}) {
    const std::vector<ThermalZone> zones = zone_that_shows(value_mc, state);
    std::vector<std::string> findings;
    const auto limit =
        make_thermal_limit(make_thermal_plan("auto"), ZoneNames::guessed, zones, findings);
    ASSERT_NE(limit, nullptr);
    EXPECT_EQ(findings.at(0),
              std::string("thermal: zone acpitz is kept below 116.0 C once it tells a temperature, "
                          "and is not guarded until then: it ") +
                  told);
    EXPECT_FALSE(is_danger(*limit));
    EXPECT_LT(cap_at(*limit, 117, Time{std::chrono::seconds(12)}).value_or(99'000), 30'000);
  }
  std::vector<std::string> findings;
  make_thermal_limit({}, ZoneNames::guessed, zone_that_shows(45'000, ReadingState::ok), findings);
  EXPECT_EQ(findings.at(0), "thermal: zone acpitz is kept below 116.0 C");
}

TEST(ThermalFlag, AZoneThatIsKnownOrGivenALimitIsDangerWhereItTellsNone) {
  const std::vector<ThermalZone> zones = zone_that_shows(-263'200, ReadingState::absurd);
  std::vector<std::string> findings;
  const auto known = make_thermal_limit({}, ZoneNames::known, zones, findings);
  EXPECT_TRUE(is_danger(*known));
  const auto given =
      make_thermal_limit(make_thermal_plan("70C"), ZoneNames::guessed, zones, findings);
  EXPECT_TRUE(is_danger(*given));
  EXPECT_EQ(findings.at(1), "thermal: zone acpitz is kept below 70.0 C");
}

TEST(ThermalFlag, OnlyABoardThatIsRecognisedKnowsItsZones) {
  for (const BoardDescription& board : built_in_boards()) {
    const bool guesses = board.id == "host" || board.id == "nvidia-gpu";
    EXPECT_EQ(zone_names(board), guesses ? ZoneNames::guessed : ZoneNames::known) << board.id;
  }
}

TEST(ThermalFlag, TakesATemperatureForAllZones) {
  std::vector<std::string> findings;
  const auto limit =
      make_thermal_limit(make_thermal_plan("70C"), ZoneNames::known, kZones, findings);
  ASSERT_NE(limit, nullptr);
  EXPECT_EQ(findings.at(1), "thermal: zone odd is kept below 70.0 C");
}

TEST(ThermalFlag, IsNoLimitWhereItIsOffOrNothingIsToBeKept) {
  std::vector<std::string> findings;
  EXPECT_EQ(make_thermal_limit(make_thermal_plan("off"), ZoneNames::known, kZones, findings),
            nullptr);
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(make_thermal_limit({}, ZoneNames::known, {}, findings), nullptr);
  EXPECT_EQ(make_thermal_limit(make_thermal_plan("off"), ZoneNames::known, {}, findings), nullptr);
}

TEST(ThermalFlag, ATemperatureIsRefusedWhereNothingReadsOne) {
  std::vector<std::string> findings;
  try {
    make_thermal_limit(make_thermal_plan("70C"), ZoneNames::known, {}, findings);
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
