#include <cerrno>
#include <chrono>

#include "tests/simulator/board_fixture.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CpuClocks : public VirtualBoard {
 protected:
  const std::string policy0_ = std::string(kCpu) + "cpufreq/policy0/";
  const std::string policy4_ = std::string(kCpu) + "cpufreq/policy4/";

  std::string online(int core) {
    return std::string(kCpu) + "cpu" + std::to_string(core) + "/online";
  }
};
using GpuClocks = VirtualBoard;
using MemoryClocks = VirtualBoard;

TEST_F(CpuClocks, BootAsTheThirtyWattModeLeavesThem) {
  EXPECT_EQ(read(std::string(kCpu) + "online"), "0-7");
  EXPECT_EQ(read(std::string(kCpu) + "offline"), "8-11");
  EXPECT_EQ(number(policy0_ + "scaling_min_freq"), 729600);
  EXPECT_EQ(number(policy0_ + "scaling_max_freq"), 1728000);
  EXPECT_EQ(number(policy0_ + "scaling_cur_freq"), 729600);
  EXPECT_EQ(read(policy0_ + "scaling_governor"), "schedutil");
}

TEST_F(CpuClocks, FollowTheLoadBetweenTheirLimits) {
  const LoadHandle load = start_load();
  EXPECT_EQ(number(policy0_ + "scaling_cur_freq"), 1728000);
  board_->close_load(load);
  EXPECT_EQ(number(policy0_ + "scaling_cur_freq"), 729600);
}

TEST_F(CpuClocks, TakeLimitsThatContradictAndLetTheMaximumWin) {
  EXPECT_EQ(write(policy0_ + "scaling_min_freq", "2201600"), 0);
  EXPECT_EQ(number(policy0_ + "scaling_min_freq"), 1728000);
  EXPECT_EQ(write(policy0_ + "scaling_max_freq", "2201600"), 0);
  EXPECT_EQ(number(policy0_ + "scaling_min_freq"), 2201600) << "the request was kept";
}

TEST_F(CpuClocks, ClampLimitsToTheTable) {
  EXPECT_EQ(write(policy0_ + "scaling_max_freq", "2201601"), 0);
  EXPECT_EQ(number(policy0_ + "scaling_max_freq"), 2201600);
  EXPECT_EQ(write(policy0_ + "scaling_max_freq", "1"), 0);
  EXPECT_EQ(number(policy0_ + "scaling_max_freq"), 115200);
}

TEST_F(CpuClocks, RoundToTheTable) {
  start_load();
  EXPECT_EQ(write(policy0_ + "scaling_max_freq", "1500000"), 0);
  EXPECT_EQ(number(policy0_ + "scaling_max_freq"), 1500000);
  EXPECT_EQ(number(policy0_ + "scaling_cur_freq"), 1497600) << "never above the maximum";
  EXPECT_EQ(write(policy0_ + "scaling_min_freq", "1500000"), 0);
  EXPECT_EQ(number(policy0_ + "scaling_max_freq"), 1574400) << "no step between the limits";
}

TEST_F(CpuClocks, RefuseGarbage) {
  for (const char* text : {"", "fast", "1.5", "-1", "1728000 1"}) {
    EXPECT_EQ(write(policy0_ + "scaling_max_freq", text), EINVAL) << text;
  }
  EXPECT_EQ(number(policy0_ + "scaling_max_freq"), 1728000);
  EXPECT_EQ(write(policy0_ + "scaling_max_freq", " 1113600\n"), 0) << "blanks do not count";
  EXPECT_EQ(write(policy0_ + "scaling_cur_freq", "1113600"), EACCES);
}

TEST_F(CpuClocks, ObeyTheirGovernor) {
  EXPECT_EQ(write(policy0_ + "scaling_setspeed", "1113600"), EINVAL) << "not governor userspace";
  EXPECT_EQ(read(policy0_ + "scaling_setspeed"), "<unsupported>");
  EXPECT_EQ(write(policy0_ + "scaling_governor", "turbo"), EINVAL);
  EXPECT_EQ(write(policy0_ + "scaling_governor", "performance"), 0);
  EXPECT_EQ(number(policy0_ + "scaling_cur_freq"), 1728000);
  EXPECT_EQ(write(policy0_ + "scaling_governor", "userspace"), 0);
  EXPECT_EQ(write(policy0_ + "scaling_setspeed", "1113600"), 0);
  EXPECT_EQ(number(policy0_ + "scaling_cur_freq"), 1113600);
}

TEST_F(CpuClocks, KeepTheFirstCoreOnline) {
  EXPECT_EQ(write(online(0), "0"), EBUSY);
  EXPECT_EQ(number(online(0)), 1);
  EXPECT_EQ(write(online(7), "0"), 0);
  EXPECT_EQ(read(std::string(kCpu) + "online"), "0-6");
  EXPECT_EQ(write(online(3), "0"), 0);
  EXPECT_EQ(read(std::string(kCpu) + "online"), "0-2,4-6");
  EXPECT_EQ(write(online(3), "2"), EINVAL);
}

TEST_F(CpuClocks, OfAClusterAnswerBusyOnceItsLastCoreSleeps) {
  for (int core = 4; core < 7; ++core) EXPECT_EQ(write(online(core), "0"), 0);
  EXPECT_EQ(error_of(policy4_ + "scaling_max_freq"), 0) << "core 7 is awake";
  EXPECT_EQ(read(policy4_ + "affected_cpus"), "7");
  EXPECT_EQ(write(online(7), "0"), 0);
  EXPECT_EQ(error_of(policy4_ + "scaling_max_freq"), EBUSY);
  EXPECT_EQ(error_of(std::string(kCpu) + "cpu5/cpufreq/scaling_cur_freq"), EBUSY);
  EXPECT_EQ(write(policy4_ + "scaling_max_freq", "1113600"), EBUSY);
  EXPECT_EQ(error_of(policy0_ + "scaling_max_freq"), 0);
}

TEST_F(CpuClocks, KeepTheirLimitsThroughSleepUnlessTheFaultForgetsThem) {
  EXPECT_EQ(write(policy4_ + "scaling_max_freq", "1113600"), 0);
  for (const char* forget : {"0", "1"}) {
    EXPECT_EQ(write_fault("forget_limits", forget), 0);
    for (int core = 4; core < 8; ++core) EXPECT_EQ(write(online(core), "0"), 0);
    EXPECT_EQ(write(online(4), "1"), 0);
    EXPECT_EQ(number(policy4_ + "scaling_max_freq"), *forget == '0' ? 1113600 : 2201600);
  }
}

TEST_F(CpuClocks, CountOnlyCoresOnlineInTheirMean) {
  start_load();
  EXPECT_EQ(write(policy4_ + "scaling_max_freq", "1113600"), 0);
  EXPECT_DOUBLE_EQ(board_->clocks().cpu_ghz, (1.728 + 1.1136) / 2);
  for (int core = 4; core < 8; ++core) EXPECT_EQ(write(online(core), "0"), 0);
  EXPECT_DOUBLE_EQ(board_->clocks().cpu_ghz, 1.728);
  EXPECT_DOUBLE_EQ(board_->clocks().cpu_cores, 4);
}

TEST_F(GpuClocks, StandAmongOtherDevicesWithTheirOwnName) {
  const auto names = board_->list("/sys/class/devfreq");
  ASSERT_TRUE(names);
  EXPECT_GT(names->size(), 1u);
  EXPECT_EQ(read(std::string(kGpu) + "device/of_node/name"), "gpu");
  EXPECT_EQ(read("/sys/class/devfreq/154c0000.nvenc/device/of_node/name"), "nvenc");
}

TEST_F(GpuClocks, RoundDownAndLetTheMaximumWin) {
  start_load();
  const std::string gpu(kGpu);
  EXPECT_EQ(number(gpu + "cur_freq"), 612000000);
  EXPECT_EQ(write(gpu + "max_freq", "1000000000"), 0);
  EXPECT_EQ(number(gpu + "cur_freq"), 918000000);
  EXPECT_EQ(write(gpu + "min_freq", "1300500000"), 0);
  EXPECT_EQ(number(gpu + "min_freq"), 1000000000);
  EXPECT_EQ(write(gpu + "min_freq", "0"), 0);
  EXPECT_EQ(number(gpu + "min_freq"), 306000000) << "0 reads back as the table's lowest";
  EXPECT_EQ(write(gpu + "max_freq", "0"), 0);
  EXPECT_EQ(number(gpu + "max_freq"), 1300500000) << "0 lifts the limit";
  EXPECT_EQ(write(gpu + "max_freq", "-1"), EINVAL);
}

TEST_F(GpuClocks, SleepAfterAWhileWithoutWork) {
  const LoadHandle load = start_load();
  EXPECT_EQ(read(std::string(kGpu) + "device/is_railgated"), "no");
  EXPECT_GT(number(std::string(kGpu) + "device/load"), 0);
  board_->close_load(load);
  wait(milliseconds(499));
  EXPECT_EQ(read(std::string(kGpu) + "device/is_railgated"), "no");
  wait(milliseconds(1));
  EXPECT_EQ(read(std::string(kGpu) + "device/is_railgated"), "yes");
  EXPECT_EQ(error_of("/sys/class/thermal/thermal_zone1/temp"), EAGAIN);
  EXPECT_EQ(number(std::string(kGpu) + "device/load"), 0);
}

TEST_F(GpuClocks, RefuseToGateUnitsOnceInUse) {
  const std::string device = std::string(kGpu) + "device/";
  EXPECT_EQ(write(device + "tpc_pg_mask", "0"), 0);
  EXPECT_EQ(write(device + "tpc_pg_mask", "240"), EBUSY);
  EXPECT_EQ(write(device + "fbp_pg_mask", "2"), ENODEV);
}

TEST_F(MemoryClocks, TakeARateOnlyWhileLocked) {
  const std::string memory(kMemory);
  EXPECT_EQ(write(memory + "rate", "2133000000"), 0);
  EXPECT_EQ(number(memory + "rate"), 204000000) << "not locked: ignored";
  EXPECT_EQ(write(memory + "mrq_rate_locked", "1"), 0);
  EXPECT_EQ(write(memory + "rate", "2133000000"), 0);
  EXPECT_EQ(number(memory + "rate"), 2133000000);
  EXPECT_EQ(write(memory + "rate", "2133000001"), 0);
  EXPECT_EQ(number(memory + "rate"), 2133000000) << "a rate of no table: ignored";
  start_load();
  EXPECT_EQ(number(memory + "rate"), 2133000000);
  EXPECT_EQ(write(memory + "mrq_rate_locked", "0"), 0);
  EXPECT_EQ(number(memory + "rate"), 3199000000) << "follows the load again";
}

TEST_F(MemoryClocks, StayBelowTheCap) {
  const std::string cap = "/sys/kernel/nvpmodel_clk_cap/emc";
  start_load();
  EXPECT_EQ(number(cap), 3199000000);
  EXPECT_EQ(write(cap, "2133000000"), 0);
  EXPECT_EQ(number(std::string(kMemory) + "rate"), 2133000000);
  EXPECT_EQ(write(cap, "2132999999"), 0);
  EXPECT_EQ(number(std::string(kMemory) + "rate"), 665600000);
  EXPECT_EQ(write(cap, "0"), 0);
  EXPECT_EQ(number(std::string(kMemory) + "rate"), 3199000000);
}

TEST_F(VirtualBoard, OfJetPack5HasItsOwnTablesAndPlaces) {
  boot({.noise = 0}, "jetson-agx-orin-jetpack5");
  const std::string gpu = "/sys/class/devfreq/17000000.ga10b/";
  EXPECT_EQ(read(gpu + "device/of_node/name"), "ga10b");
  EXPECT_EQ(number(gpu + "max_freq"), 624750000);
  EXPECT_NE(read(gpu + "available_frequencies").find("114750000"), std::string::npos);
  EXPECT_EQ(read("/sys/class/thermal/thermal_zone0/type"), "CPU-therm");
  EXPECT_EQ(read("/sys/class/thermal/thermal_zone2/temp"), "-256000");
  EXPECT_TRUE(read("/etc/nv_tegra_release").starts_with("# R34 "));
  EXPECT_EQ(board_->delay(monitor("1-0040") + "curr1_input", FileAccess::read), milliseconds(430));
}

TEST_F(VirtualBoard, CannotBeMadeOfABoardWithoutAModel) {
  EXPECT_THROW(BoardState(built_in_board("host")), std::invalid_argument);
}

}  // namespace
}  // namespace gearshift
