#include "simulator/system_files.h"

#include "tests/simulator/board_fixture.h"

namespace gearshift {
namespace {

std::size_t count(const std::string& text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++found;
  }
  return found;
}

TEST_F(VirtualBoard, HasNvpmodelsTableWithItsFourModesAndTheDefault) {
  const std::string table = read("/etc/nvpmodel.conf");
  EXPECT_EQ(count(table, "< POWER_MODEL ID="), 4U);
  EXPECT_NE(table.find("< POWER_MODEL ID=2 NAME=MODE_30W >"), std::string::npos);
  EXPECT_NE(table.find("CPU_A78_7 MAX_FREQ 1728000"), std::string::npos);
  EXPECT_TRUE(table.ends_with("< PM_CONFIG DEFAULT=2 >"));
}

TEST_F(VirtualBoard, ProcListsTheCoresThatAreOnline) {
  EXPECT_EQ(count(read("/proc/cpuinfo"), "processor"), 8U);
  EXPECT_EQ(write(std::string(kCpu) + "cpu7/online", "0"), 0);
  EXPECT_EQ(count(read("/proc/cpuinfo"), "processor"), 7U);
  EXPECT_EQ(read("/proc/stat").find("cpu7"), std::string::npos);
  EXPECT_NE(read("/proc/stat").find("cpu6"), std::string::npos);
}

TEST_F(VirtualBoard, EveryCoreHasIdleStates) {
  EXPECT_EQ(read(std::string(kCpu) + "cpu0/cpuidle/state0/name"), "WFI");
  EXPECT_EQ(read(std::string(kCpu) + "cpu11/cpuidle/state1/name"), "c7");
}

}  // namespace
}  // namespace gearshift
