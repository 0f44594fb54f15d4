#include "sensors/open.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "tests/fakes/directory_board.h"
#include "tests/fakes/manual_clock.h"

namespace gearshift {
namespace {

using fakes::DirectoryBoard;

class OpenSensorsTest : public testing::Test {
 protected:
  static std::vector<Reading> read(OpenedSensors& opened) {
    std::vector<Reading> readings;
    for (const auto& sensor : opened.sensors) {
      sensor->read(Time(std::chrono::seconds(1)), readings);
    }
    return readings;
  }
  // What the first zone tells where its file reads so.
  Reading first_zone_of(Sensor& zones, std::string_view text) {
    board_.put("/sys/class/thermal/thermal_zone0/temp", text);
    std::vector<Reading> readings;
    zones.read(Time{}, readings);
    return readings.at(0);
  }

  DirectoryBoard board_;
  Sysroot root_{board_.root()};
  fakes::ManualClock clock_;
};

TEST_F(OpenSensorsTest, OpensPowerFirstAndThenTemperature) {
  OpenedSensors opened = open_sensors(board_.description(), root_, clock_);
  ASSERT_EQ(opened.sensors.size(), 2u);
  EXPECT_FALSE(opened.power_is_estimate);
  EXPECT_EQ(opened.wake_descriptor, -1);
  const std::vector<Reading> readings = read(opened);
  EXPECT_EQ(readings.front().quantity, Quantity::power);
  EXPECT_EQ(readings.back().quantity, Quantity::temperature);
}

TEST_F(OpenSensorsTest, FindsZonesByTypePrefixWhateverTheLetterCase) {
  OpenedSensors opened = open_sensors(board_.description(), root_, clock_);
  std::vector<std::int64_t> temperatures;
  for (const Reading& reading : read(opened)) {
    if (reading.quantity != Quantity::temperature) continue;
    EXPECT_EQ(reading.channel, temperatures.size());
    EXPECT_EQ(reading.state, ReadingState::ok);
    temperatures.push_back(reading.value);
  }
  EXPECT_EQ(temperatures, (std::vector<std::int64_t>{41'000, 42'000, 44'000}));
}

TEST_F(OpenSensorsTest, AZoneIsSlowedDownFromItsHighestPassiveTripElseItsLowestStop) {
  const auto throttled = [this] {
    return open_sensors(board_.description(), root_, clock_).thermal_zones.at(0).throttled_mc;
  };
  const auto trip = [this](int number, std::string_view type, std::string_view temperature_mc) {
    const std::string stem =
        "/sys/class/thermal/thermal_zone0/trip_point_" + std::to_string(number);
    board_.put(stem + "_type", type);
    board_.put(stem + "_temp", temperature_mc);
  };
  EXPECT_EQ(throttled(), std::nullopt);
  trip(0, "active", "50000");
  EXPECT_EQ(throttled(), std::nullopt);
  trip(1, "critical", "104500");
  trip(2, "hot", "101000");
  EXPECT_EQ(throttled(), 101'000);
  trip(3, "passive", "99000");
  trip(4, "passive", "70000");
  EXPECT_EQ(throttled(), 99'000);
  trip(5, "passive", "-274000");
  trip(6, "passive", "nonsense");
  EXPECT_EQ(throttled(), 99'000);
}

TEST_F(OpenSensorsTest, AZonePoweredDownIsOffAndANonsenseOneAbsurd) {
  OpenedSensors opened = open_sensors(board_.description(), root_, clock_);
  Sensor& zones = *opened.sensors[1];
  const auto first_zone = [&](std::string_view text) { return first_zone_of(zones, text); };
  const Reading off = first_zone("-256000");
  EXPECT_EQ(off.state, ReadingState::off);
  EXPECT_NE(zones.explain(off).find("powered down"), std::string::npos);
  EXPECT_EQ(first_zone("-50000").state, ReadingState::ok);
  EXPECT_EQ(first_zone("150000").state, ReadingState::ok);
  EXPECT_EQ(first_zone("150001").state, ReadingState::absurd);
  EXPECT_EQ(first_zone("-50001").state, ReadingState::absurd);
  const Reading broken = first_zone("");
  EXPECT_EQ(broken.state, ReadingState::missing);
  EXPECT_NE(zones.explain(broken).find("CPU-therm at "), std::string::npos);
}

// Taken for milli-degrees they would be a zone that is never hot.
TEST_F(OpenSensorsTest, AZoneInWholeOrDecimalDegreesIsNotBelieved) {
  OpenedSensors opened = open_sensors(board_.description(), root_, clock_);
  Sensor& zones = *opened.sensors[1];
  const auto first_zone = [&](std::string_view text) { return first_zone_of(zones, text); };
  const Reading whole = first_zone("45");
  EXPECT_EQ(whole.state, ReadingState::absurd);
  EXPECT_NE(zones.explain(whole).find("45 is no temperature in milli-degrees Celsius but one in "
                                      "whole degrees"),
            std::string::npos);
  EXPECT_EQ(first_zone("1").state, ReadingState::absurd);
  EXPECT_EQ(first_zone("150").state, ReadingState::absurd);
  for (const char* text : {"45.5", "45000C", "45 000", "0x2d"}) {
    const Reading reading = first_zone(text);
    EXPECT_EQ(reading.state, ReadingState::missing) << text;
    EXPECT_NE(zones.explain(reading).find("no whole number"), std::string::npos) << text;
  }
  EXPECT_EQ(first_zone("45000\n").value, 45'000);
  EXPECT_EQ(first_zone("151").state, ReadingState::ok) << "a cold morning";
  EXPECT_EQ(first_zone("0").state, ReadingState::ok);
  EXPECT_EQ(first_zone("-45").state, ReadingState::ok) << "no heat, whatever its unit";
}

// Between 15 and 150 degrees, in tenths: as milli-degrees a chip about the freezing point.
TEST_F(OpenSensorsTest, AZoneThatMayCountTenthsIsNotBelievedBeforeItHasShownMore) {
  board_.put("/sys/class/thermal/thermal_zone0/temp", "450");  // it is looked at as it is opened
  OpenedSensors opened = open_sensors(board_.description(), root_, clock_);
  Sensor& zones = *opened.sensors[1];
  const auto first_zone = [&](std::string_view text) { return first_zone_of(zones, text); };
  for (const char* text : {"151", "455", "1500"}) {
    const Reading tenths = first_zone(text);
    EXPECT_EQ(tenths.state, ReadingState::absurd) << text;
    EXPECT_NE(zones.explain(tenths).find(" is not believed in milli-degrees Celsius until the zone "
                                         "shows over 1500: it may count tenths of a degree"),
              std::string::npos)
        << zones.explain(tenths);
  }
  EXPECT_EQ(first_zone("-500").state, ReadingState::ok) << "no heat, whatever its unit";
  EXPECT_EQ(first_zone("150001").state, ReadingState::absurd);
  EXPECT_EQ(first_zone("455").state, ReadingState::absurd) << "what is absurd tells no unit";
  EXPECT_EQ(first_zone("-501").state, ReadingState::ok);
  EXPECT_EQ(first_zone("455").state, ReadingState::ok) << "a winter's morning";
}

TEST_F(OpenSensorsTest, AZoneIsFoundAgainWhereItHasAnotherNumber) {
  OpenedSensors opened = open_sensors(board_.description(), root_, clock_);
  Sensor& zones = *opened.sensors[1];
  const auto first_zone = [&](int ms) {
    std::vector<Reading> readings;
    zones.read(Time(std::chrono::milliseconds(ms)), readings);
    return readings.at(0);
  };
  const std::string folder = "/sys/class/thermal/thermal_zone";
  EXPECT_EQ(first_zone(0).value, 41'000);
  board_.put(folder + "0/temp", "");
  EXPECT_EQ(first_zone(100).state, ReadingState::missing);
  board_.remove(folder + "0");
  board_.put(folder + "9/type", "CPU-therm");
  board_.put(folder + "9/temp", "50000");
  EXPECT_EQ(first_zone(200).value, 50'000);
  EXPECT_NE(opened.thermal, nullptr);
}

TEST_F(OpenSensorsTest, MonitorsThatComeLateAreReadWithoutARestart) {
  board_.remove("/sys/class/thermal");
  std::filesystem::rename(board_.at("/sys/class/hwmon"), board_.at("/sys/class/later"));
  OpenedSensors opened = open_sensors(board_.description(), root_, clock_);
  ASSERT_EQ(opened.sensors.size(), 1u);
  const Reading missing = read(opened).at(0);
  EXPECT_EQ(missing.state, ReadingState::missing);
  EXPECT_NE(opened.sensors[0]->explain(missing).find("no ina3221"), std::string::npos);
  std::filesystem::rename(board_.at("/sys/class/later"), board_.at("/sys/class/hwmon"));
  std::vector<Reading> readings;
  opened.sensors[0]->read(Time(std::chrono::seconds(2)), readings);
  EXPECT_EQ(readings.at(0).state, ReadingState::ok);
}

// Packages come one after the other, and the sum of the first ones is too low.
TEST_F(OpenSensorsTest, RaplThatComesLateIsReadOnceItsPackagesAreAllThere) {
  fakes::TempTree late;
  Sysroot root(late.root());
  const auto package = [&late](char number, std::string_view energy_uj) {
    const std::string folder = std::string("/sys/class/powercap/intel-rapl:") + number;
    late.put(folder + "/name", std::string("package-") + number);
    late.put(folder + "/max_energy_range_uj", "262143328850");
    late.put(folder + "/energy_uj", energy_uj);
  };
  BoardDescription board = board_.description();
  board.power.sources = {PowerSource::rapl};
  OpenedSensors opened = open_sensors(board, root, clock_);
  ASSERT_EQ(opened.sensors.size(), 1u);
  EXPECT_TRUE(opened.power_counts);
  EXPECT_EQ(std::count(opened.findings.begin(), opened.findings.end(),
                       "power: RAPL is looked for every second"),
            1);
  const auto read_at = [&](int ms) {
    std::vector<Reading> readings;
    opened.sensors[0]->read(Time(std::chrono::milliseconds(ms)), readings);
    return readings;
  };
  const Reading none = read_at(0).at(0);
  EXPECT_EQ(none.state, ReadingState::missing);
  EXPECT_NE(opened.sensors[0]->explain(none).find("no RAPL package"), std::string::npos);
  package('0', "0");
  EXPECT_EQ(read_at(1000).size(), 1u);
  package('1', "0");
  EXPECT_EQ(read_at(2000).size(), 1u);
  EXPECT_EQ(read_at(2500).size(), 1u) << "looked for once a second";
  EXPECT_EQ(read_at(3000).size(), 3u) << "the sum and two packages";
  package('0', "1000000");
  package('1', "500000");
  const Reading total = read_at(3100).at(0);
  EXPECT_EQ(total.state, ReadingState::ok);
  EXPECT_EQ(total.value, 15'000);
}

// A driver that is there later may refuse for another reason.
TEST_F(OpenSensorsTest, WhyAPowerThatIsAwaitedIsNotThereIsToldAsOfTheNewestLook) {
  fakes::TempTree late;
  Sysroot root(late.root());
  BoardDescription board = board_.description();
  board.power.sources = {PowerSource::rapl};
  OpenedSensors opened = open_sensors(board, root, clock_);
  ASSERT_EQ(opened.sensors.size(), 1u);
  const auto why_at = [&](int second) {
    std::vector<Reading> readings;
    opened.sensors[0]->read(Time(std::chrono::seconds(second)), readings);
    return opened.sensors[0]->explain(readings.at(0));
  };
  const std::string at_start = why_at(0);
  EXPECT_NE(at_start.find("no RAPL package"), std::string::npos) << at_start;
  EXPECT_EQ(at_start.find("now:"), std::string::npos) << at_start;
  const std::string folder = "/sys/class/powercap/intel-rapl:0";
  late.put(folder + "/name", "package-0");
  const std::string unreadable = why_at(1);
  EXPECT_NE(unreadable.find(at_start + "; now: power: RAPL package-0 cannot be used: "),
            std::string::npos)
      << unreadable;
  late.put(folder + "/max_energy_range_uj", "262143328850");
  late.put(folder + "/energy_uj", "0");
  const std::string soon = why_at(2);
  EXPECT_NE(soon.find("RAPL may have more packages in a second"), std::string::npos) << soon;
}

TEST_F(OpenSensorsTest, WhereNothingCanBeReadPowerIsMissingWithTheReasons) {
  fakes::TempTree empty;
  Sysroot nothing(empty.root());
  BoardDescription board = board_.description();
  board.power.sources = {PowerSource::ina3221, PowerSource::rapl, PowerSource::cpu_time_estimate};
  OpenedSensors opened = open_sensors(board, nothing, clock_);
  ASSERT_EQ(opened.sensors.size(), 1u);
  const std::vector<Reading> readings = read(opened);
  ASSERT_EQ(readings.size(), 1u);
  EXPECT_EQ(readings[0].state, ReadingState::missing);
  const std::string why = opened.sensors[0]->explain(readings[0]);
  for (const char* text : {"no ina3221", "no RAPL package", "no estimate"}) {
    EXPECT_NE(why.find(text), std::string::npos) << why;
  }
  EXPECT_FALSE(opened.power_is_estimate);
}

TEST_F(OpenSensorsTest, TakesTheFirstSourceThatAnswersAndLabelsTheEstimate) {
  BoardDescription board = board_.description();
  board.power.sources = {PowerSource::rapl, PowerSource::cpu_time_estimate};
  board_.put("/proc/stat", "cpu  1 0 0 1 0 0 0 0\ncpu0 1\n");
  OpenedSensors opened = open_sensors(board, root_, clock_);
  EXPECT_TRUE(opened.power_is_estimate);
  EXPECT_TRUE(read(opened).front().estimate);
}

TEST_F(OpenSensorsTest, ADeadRailOfTheTotalIsAnEstimate) {
  board_.remove(DirectoryBoard::hwmon("in3_input"));
  OpenedSensors opened = open_sensors(board_.description(), root_, clock_);
  EXPECT_TRUE(opened.power_is_estimate);
  EXPECT_TRUE(read(opened).front().estimate);
}

TEST_F(OpenSensorsTest, ReadsThatBlockGoThroughASampler) {
  BoardDescription board = board_.description();
  board.power.reads_block = true;
  OpenedSensors opened = open_sensors(board, root_, clock_);
  EXPECT_GE(opened.wake_descriptor, 0);
  EXPECT_EQ(read(opened).front().quantity, Quantity::power);
}

}  // namespace
}  // namespace gearshift
