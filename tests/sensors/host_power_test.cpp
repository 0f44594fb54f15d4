#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "sensors/cpu_time_estimate.h"
#include "sensors/rapl.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kPackage0 = "/sys/class/powercap/intel-rapl:0";
constexpr std::string_view kPackage1 = "/sys/class/powercap/intel-rapl:1";

class HostPowerTest : public testing::Test {
 protected:
  HostPowerTest() {
    power_.period = milliseconds(100);
    power_.stale_after = milliseconds(3000);
    power_.plausible_max_mw = 500'000;
    power_.estimate_idle_w = 10;
    power_.estimate_core_w = 15;
  }

  void zone(std::string_view folder, std::string_view name, std::int64_t energy_uj,
            std::int64_t range_uj = 262'143'328'850) const {
    tree_.put(std::string(folder) + "/name", name);
    tree_.put(std::string(folder) + "/max_energy_range_uj", std::to_string(range_uj));
    energy(folder, energy_uj);
  }
  void energy(std::string_view folder, std::int64_t energy_uj) const {
    tree_.put(std::string(folder) + "/energy_uj", std::to_string(energy_uj));
  }
  void cpu_time(std::int64_t user, std::int64_t idle, std::int64_t steal = 0) const {
    tree_.put("/proc/stat", "cpu  " + std::to_string(user) + " 0 0 " + std::to_string(idle) +
                                " 0 0 0 " + std::to_string(steal) +
                                " 0 0\ncpu0 0 0 0 0\ncpu1 0 0 0 0\nintr 1 2\n");
  }

  static std::vector<Reading> read(Sensor& sensor, Duration at) {
    std::vector<Reading> readings;
    sensor.read(Time(at), readings);
    return readings;
  }

  fakes::TempTree tree_;
  Sysroot root_{tree_.root()};
  PowerDescription power_;
  std::vector<std::string> findings_;
};

TEST_F(HostPowerTest, RaplIsEnergyOverTimeSummedOverPackages) {
  zone(kPackage0, "package-0", 1'000'000);
  zone(kPackage1, "package-1", 0);
  zone("/sys/class/powercap/intel-rapl:0:0", "core", 0);
  zone("/sys/class/powercap/intel-rapl-mmio:0", "package-0", 0);
  zone("/sys/class/powercap/intel-rapl:2", "psys", 0);
  const auto sensor = Rapl::open(power_, root_, findings_);
  ASSERT_TRUE(sensor);
  const Reading first = read(*sensor, seconds(1))[0];
  EXPECT_EQ(first.state, ReadingState::missing);
  EXPECT_NE(sensor->explain(first).find("two readings"), std::string::npos);
  energy(kPackage0, 3'000'000);
  energy(kPackage1, 500'000);
  const std::vector<Reading> readings = read(*sensor, milliseconds(1100));
  ASSERT_EQ(readings.size(), 3u) << "two packages and their sum";
  EXPECT_EQ(readings[0].state, ReadingState::ok);
  EXPECT_EQ(readings[0].value, 25'000);
  EXPECT_FALSE(readings[0].estimate);
  EXPECT_EQ(readings[1].value, 20'000);
  EXPECT_EQ(readings[2].value, 5'000);
}

TEST_F(HostPowerTest, RaplRepeatsAReadingUntilThePeriodIsOver) {
  zone(kPackage0, "package-0", 0);
  const auto sensor = Rapl::open(power_, root_, findings_);
  read(*sensor, milliseconds(0));
  energy(kPackage0, 1'000'000);
  const Reading reading = read(*sensor, milliseconds(100))[0];
  EXPECT_EQ(reading.value, 10'000);
  energy(kPackage0, 9'000'000);
  EXPECT_EQ(read(*sensor, milliseconds(199))[0].value, 10'000);
  EXPECT_EQ(read(*sensor, milliseconds(199))[0].taken, reading.taken);
  EXPECT_EQ(read(*sensor, milliseconds(200))[0].value, 80'000);
}

TEST_F(HostPowerTest, RaplCountsOnThroughAWrap) {
  zone(kPackage0, "package-0", 9'900'000, 10'000'000);
  power_.plausible_max_mw = 100'000;
  const auto sensor = Rapl::open(power_, root_, findings_);
  read(*sensor, milliseconds(0));
  energy(kPackage0, 400'000);
  const Reading reading = read(*sensor, milliseconds(100))[0];
  EXPECT_EQ(reading.state, ReadingState::ok);
  EXPECT_EQ(reading.value, 5'000);
}

TEST_F(HostPowerTest, RaplDoesNotGuessWhenACounterMayHaveWrappedTwice) {
  zone(kPackage0, "package-0", 0, 10'000'000);
  power_.plausible_max_mw = 100'000;  // wraps in 100 ms at that
  const auto sensor = Rapl::open(power_, root_, findings_);
  read(*sensor, milliseconds(0));
  energy(kPackage0, 100);
  const Reading reading = read(*sensor, milliseconds(101))[0];
  EXPECT_EQ(reading.state, ReadingState::missing);
  EXPECT_NE(sensor->explain(reading).find("wrapped twice"), std::string::npos);
  energy(kPackage0, 200);
  EXPECT_EQ(read(*sensor, milliseconds(201))[0].state, ReadingState::ok);
}

TEST_F(HostPowerTest, RaplAboveThePlausibleIsAbsurd) {
  zone(kPackage0, "package-0", 1'000'000);
  const auto sensor = Rapl::open(power_, root_, findings_);
  read(*sensor, milliseconds(0));
  energy(kPackage0, 0);  // a suspend reset it, which looks like a wrap
  const Reading reading = read(*sensor, milliseconds(100))[0];
  EXPECT_EQ(reading.state, ReadingState::absurd);
  EXPECT_NE(sensor->explain(reading).find("reset"), std::string::npos);
}

TEST_F(HostPowerTest, RaplThatStandsStillIsAbsurd) {
  zone(kPackage0, "package-0", 1'000'000);
  zone(kPackage1, "package-1", 1'000'000);
  const auto sensor = Rapl::open(power_, root_, findings_);
  read(*sensor, milliseconds(0));
  energy(kPackage0, 3'000'000);
  const std::vector<Reading> readings = read(*sensor, milliseconds(100));
  EXPECT_EQ(readings[0].state, ReadingState::absurd) << "the sum is too low without it";
  EXPECT_EQ(readings[1].state, ReadingState::ok);
  EXPECT_EQ(readings[2].state, ReadingState::absurd);
  for (const std::size_t i : {0U, 2U}) {
    const std::string why = sensor->explain(readings[i]);
    EXPECT_NE(why.find("package-1"), std::string::npos) << why;
    EXPECT_NE(why.find("stands still"), std::string::npos) << why;
  }
  energy(kPackage0, 5'000'000);
  energy(kPackage1, 1'500'000);
  const Reading moves = read(*sensor, milliseconds(200))[0];
  EXPECT_EQ(moves.state, ReadingState::ok);
  EXPECT_EQ(moves.value, 25'000);
}

TEST_F(HostPowerTest, RaplIsNotLookedAtSoonerThanItsCounterMoves) {
  power_.period = milliseconds(1);
  zone(kPackage0, "package-0", 0);
  const auto sensor = Rapl::open(power_, root_, findings_);
  read(*sensor, milliseconds(0));
  EXPECT_EQ(read(*sensor, milliseconds(1))[0].state, ReadingState::missing) << "not absurd yet";
  energy(kPackage0, 200'000);
  EXPECT_EQ(read(*sensor, milliseconds(20))[0].value, 10'000);
}

TEST_F(HostPowerTest, RaplThatCannotBeReadIsMissingAndComesBack) {
  zone(kPackage0, "package-0", 0);
  const auto sensor = Rapl::open(power_, root_, findings_);
  read(*sensor, milliseconds(0));
  tree_.put(std::string(kPackage0) + "/energy_uj", "");
  const Reading missing = read(*sensor, milliseconds(100))[0];
  EXPECT_EQ(missing.state, ReadingState::missing);
  EXPECT_NE(sensor->explain(missing).find("package-0 at "), std::string::npos);
  energy(kPackage0, 1'000'000);
  EXPECT_EQ(read(*sensor, milliseconds(200))[0].state, ReadingState::missing);
  energy(kPackage0, 2'000'000);
  EXPECT_EQ(read(*sensor, milliseconds(300))[0].value, 10'000);
}

// Files that were open stay dead when the driver is loaded anew.
TEST_F(HostPowerTest, RaplIsOpenedAnewWhenAllItsPackagesAreBack) {
  zone(kPackage0, "package-0", 0);
  zone(kPackage1, "package-1", 0);
  const auto sensor = Rapl::open(power_, root_, findings_);
  read(*sensor, milliseconds(0));
  for (const std::string_view folder : {kPackage0, kPackage1}) {
    tree_.put(std::string(folder) + "/energy_uj", "");
    tree_.remove(folder);
  }
  EXPECT_EQ(read(*sensor, milliseconds(100))[0].state, ReadingState::missing);
  zone(kPackage0, "package-0", 0);
  EXPECT_EQ(read(*sensor, milliseconds(200))[0].state, ReadingState::missing);
  zone(kPackage1, "package-1", 0);
  EXPECT_EQ(read(*sensor, milliseconds(1100))[0].state, ReadingState::missing) << "once a second";
  EXPECT_EQ(read(*sensor, milliseconds(1200))[0].state, ReadingState::missing);
  energy(kPackage0, 1'000'000);
  energy(kPackage1, 500'000);
  const Reading both = read(*sensor, milliseconds(1300))[0];
  EXPECT_EQ(both.state, ReadingState::ok);
  EXPECT_EQ(both.value, 15'000);
}

TEST_F(HostPowerTest, RaplIsProbedByReadingNotByPresence) {
  zone(kPackage0, "package-0", 0);
  zone(kPackage1, "package-1", 0);
  tree_.remove(std::string(kPackage1) + "/energy_uj");
  EXPECT_FALSE(Rapl::open(power_, root_, findings_)) << "half of the machine is no total";
  ASSERT_FALSE(findings_.empty());
  EXPECT_NE(findings_.back().find("package-1 cannot be used"), std::string::npos);
}

TEST_F(HostPowerTest, TheEstimateFollowsTheBusyCoresAndSaysWhatItIs) {
  cpu_time(0, 0);
  const auto sensor = CpuTimeEstimate::open(power_, root_, findings_);
  ASSERT_TRUE(sensor);
  EXPECT_NE(findings_.back().find("nothing here measures power"), std::string::npos);
  const Reading first = read(*sensor, milliseconds(0))[0];
  EXPECT_EQ(first.state, ReadingState::missing);
  EXPECT_TRUE(first.estimate);
  cpu_time(10, 10);  // of 20 ticks of two CPUs
  const Reading half = read(*sensor, milliseconds(100))[0];
  EXPECT_EQ(half.state, ReadingState::ok);
  EXPECT_TRUE(half.estimate);
  EXPECT_EQ(half.value, 25'000);
  cpu_time(10, 20, 10);
  EXPECT_EQ(read(*sensor, milliseconds(200))[0].value, 10'000) << "stolen time is idle";
  cpu_time(30, 20, 10);
  EXPECT_EQ(read(*sensor, milliseconds(300))[0].value, 40'000);
}

TEST_F(HostPowerTest, TheEstimateCountsTheCpusThatAreOnlineNow) {
  cpu_time(0, 0);
  const auto sensor = CpuTimeEstimate::open(power_, root_, findings_);
  read(*sensor, milliseconds(0));
  cpu_time(20, 0);
  EXPECT_EQ(read(*sensor, milliseconds(100))[0].value, 40'000) << "two busy cores of two";
  tree_.put("/proc/stat",
            "cpu  100 0 0 0 0 0 0 0\ncpu0 1\ncpu1 1\ncpu2 1\ncpu3 1\ncpu4 1\nintr 0\n");
  EXPECT_EQ(read(*sensor, milliseconds(1100))[0].value, 85'000) << "five of five";
}

// Their lines are more than one reading of a sensor's file holds.
TEST_F(HostPowerTest, TheEstimateCountsHundredsOfCpus) {
  power_.plausible_max_mw = 1'000'000;
  std::string lines;
  for (int cpu = 0; cpu < 256; ++cpu) {
    lines += "cpu" + std::to_string(cpu) + " 100000 0 200000 3000000 0 0 0 0 0 0\n";
  }
  tree_.put("/proc/stat", "cpu  0 0 0 0 0 0 0 0\n" + lines);
  const auto sensor = CpuTimeEstimate::open(power_, root_, findings_);
  EXPECT_NE(findings_.back().find("256 CPUs"), std::string::npos);
  read(*sensor, milliseconds(0));
  tree_.put("/proc/stat", "cpu  64 0 0 192 0 0 0 0\n" + lines);
  EXPECT_EQ(read(*sensor, milliseconds(100))[0].value, 970'000) << "64 of them are busy";
}

TEST_F(HostPowerTest, AnEstimateOfNoPowerIsAbsurd) {
  power_.estimate_idle_w = power_.estimate_core_w = 0;
  cpu_time(0, 0);
  const auto sensor = CpuTimeEstimate::open(power_, root_, findings_);
  read(*sensor, milliseconds(0));
  cpu_time(10, 10);
  const Reading reading = read(*sensor, milliseconds(100))[0];
  EXPECT_EQ(reading.state, ReadingState::absurd);
  EXPECT_NE(sensor->explain(reading).find("0 mW is outside"), std::string::npos);
}

TEST_F(HostPowerTest, TheEstimateIsOfNanosecondsWhereCgroupsCountAllProcesses) {
  cpu_time(10, 10);
  const auto used = [this](std::string_view ns) {
    tree_.put("/sys/fs/cgroup/cpuacct/cpuacct.usage", ns);
  };
  used("5000000000");
  EXPECT_TRUE(CpuTimeEstimate::open(power_, root_, findings_));
  EXPECT_NE(findings_.back().find("/proc/stat"), std::string::npos) << "a container's own";
  tree_.put("/sys/fs/cgroup/cpuacct/release_agent", "");
  const auto sensor = CpuTimeEstimate::open(power_, root_, findings_);
  EXPECT_NE(findings_.back().find("of 2 CPUs in"), std::string::npos);
  EXPECT_NE(findings_.back().find("cpuacct.usage"), std::string::npos);
  EXPECT_EQ(read(*sensor, milliseconds(0))[0].state, ReadingState::missing);
  used("5042000000");  // 42 ms of one core in 100
  const Reading reading = read(*sensor, milliseconds(100))[0];
  EXPECT_EQ(reading.value, 16'300);
  EXPECT_TRUE(reading.estimate);
  used("5542000000");  // of more than the two CPUs that there were
  EXPECT_EQ(read(*sensor, milliseconds(200))[0].value, 85'000);
  used("4000000000");
  EXPECT_EQ(read(*sensor, milliseconds(300))[0].state, ReadingState::missing) << "it went back";
  used("garbage");
  const Reading none = read(*sensor, milliseconds(400))[0];
  EXPECT_EQ(none.state, ReadingState::missing);
  EXPECT_NE(sensor->explain(none).find("cpuacct.usage"), std::string::npos);
}

TEST_F(HostPowerTest, TheEstimateIsMissingWithoutCpuTimeInBetween) {
  cpu_time(10, 10);
  const auto sensor = CpuTimeEstimate::open(power_, root_, findings_);
  read(*sensor, milliseconds(0));
  EXPECT_EQ(read(*sensor, milliseconds(100))[0].state, ReadingState::missing);
  tree_.put("/proc/stat", "garbage");
  const Reading reading = read(*sensor, milliseconds(200))[0];
  EXPECT_EQ(reading.state, ReadingState::missing);
  EXPECT_NE(sensor->explain(reading).find("/proc/stat"), std::string::npos);
}

TEST_F(HostPowerTest, TheEstimateNeedsAStatisticsFile) {
  EXPECT_FALSE(CpuTimeEstimate::open(power_, root_, findings_));
  tree_.put("/proc/stat", "cpu  1 2 x\n");
  EXPECT_FALSE(CpuTimeEstimate::open(power_, root_, findings_));
  EXPECT_EQ(findings_.size(), 2u);
}

}  // namespace
}  // namespace gearshift
