#include <cerrno>
#include <chrono>

#include "tests/simulator/board_fixture.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

using FaultsOfABoard = VirtualBoard;
using FilesOfABoard = VirtualBoard;

TEST_F(FaultsOfABoard, AreAllExplained) {
  const std::string readme = read("/.virtual/faults/README");
  const auto names = board_->list("/.virtual/faults");
  for (const std::string& name : names.value()) {
    EXPECT_TRUE(name == "README" || readme.find("\n" + name + " ") != std::string::npos) << name;
  }
}

TEST_F(FaultsOfABoard, IgnoreAGpuClock) {
  start_load();
  const std::string gpu(kGpu);
  EXPECT_EQ(write_fault("ignore_gpu_clock", "1"), 0);
  EXPECT_EQ(write(gpu + "max_freq", "1300500000"), 0);
  EXPECT_EQ(number(gpu + "max_freq"), 1300500000);
  EXPECT_EQ(number(gpu + "cur_freq"), 612000000);
  EXPECT_EQ(write_fault("ignore_gpu_clock", "0"), 0);
  EXPECT_EQ(number(gpu + "cur_freq"), 1300500000);
  EXPECT_EQ(write_fault("ignore_gpu_clock", "2"), 0);
  EXPECT_EQ(write(gpu + "max_freq", "306000000"), 0);
  EXPECT_EQ(number(gpu + "max_freq"), 1300500000);
  EXPECT_EQ(write_fault("ignore_gpu_clock", "3"), EINVAL);
}

TEST_F(FaultsOfABoard, IgnoreACpuClock) {
  const std::string policy = std::string(kCpu) + "cpufreq/policy0/";
  start_load();
  EXPECT_EQ(write_fault("ignore_cpu_clock", "1"), 0);
  EXPECT_EQ(write(policy + "scaling_max_freq", "1113600"), 0);
  EXPECT_EQ(number(policy + "scaling_max_freq"), 1113600);
  EXPECT_EQ(number(policy + "scaling_cur_freq"), 1728000);
  EXPECT_EQ(write_fault("ignore_cpu_clock", "2"), 0);
  EXPECT_EQ(write(policy + "scaling_max_freq", "2201600"), 0);
  EXPECT_EQ(number(policy + "scaling_max_freq"), 1113600);
}

TEST_F(FaultsOfABoard, HideLimitsBehindHeat) {
  const std::string policy = std::string(kCpu) + "cpufreq/policy0/";
  const std::string gpu(kGpu);
  start_load();
  EXPECT_EQ(write_fault("heat_percent", "50"), 0);
  EXPECT_EQ(number(policy + "scaling_max_freq"), 1036800);
  EXPECT_EQ(number(policy + "scaling_cur_freq"), 1036800);
  EXPECT_EQ(write(policy + "scaling_max_freq", "2201600"), 0) << "taken, and hidden";
  EXPECT_EQ(write(policy + "scaling_min_freq", "1728000"), 0);
  EXPECT_EQ(number(policy + "scaling_max_freq"), 1036800);
  EXPECT_EQ(number(policy + "scaling_min_freq"), 1036800);
  EXPECT_EQ(number(gpu + "max_freq"), 612000000);
  EXPECT_EQ(write(gpu + "max_freq", "1300500000"), 0);
  EXPECT_EQ(number(gpu + "cur_freq"), 612000000);
  int at_work = 0;
  for (int i = 0; i < 11; ++i) {
    const std::string device = "/sys/class/thermal/cooling_device" + std::to_string(i) + "/";
    const std::string type = read(device + "type");
    const bool lowers = type.find("freq-") != std::string::npos;
    if (type == "pwm-fan") continue;
    EXPECT_EQ(number(device + "cur_state"), lowers ? 1 : 0) << type;
    at_work += lowers ? 1 : 0;
  }
  EXPECT_EQ(at_work, 4);

  EXPECT_EQ(write_fault("heat_percent", "100"), 0);
  EXPECT_EQ(number(policy + "scaling_max_freq"), 2201600);
  EXPECT_EQ(number(policy + "scaling_min_freq"), 1728000);
  EXPECT_EQ(number(gpu + "max_freq"), 1300500000);
  EXPECT_EQ(write_fault("heat_percent", "9"), EINVAL);
}

TEST_F(FaultsOfABoard, KillOneRail) {
  const std::string folder = monitor("1-0040");
  EXPECT_EQ(write_fault("dead_channel", "VDD_CPU_CV"), 0);
  EXPECT_EQ(error_of(folder + "curr2_input"), ENODATA);
  EXPECT_EQ(error_of(folder + "curr1_input"), 0);
  EXPECT_EQ(read(folder + "in2_label"), "VDD_CPU_CV");
  EXPECT_EQ(write_fault("dead_channel", ""), 0);
  EXPECT_EQ(error_of(folder + "curr2_input"), 0);
  EXPECT_EQ(write_fault("dead_channel", "NOSUCH"), EINVAL);
  EXPECT_EQ(read("/.virtual/faults/dead_channel"), "none");
}

TEST_F(FaultsOfABoard, StickTheSensor) {
  boot({.seed = 3, .noise = 0.02});
  start_load();
  wait(milliseconds(500));
  EXPECT_EQ(write_fault("sensor_stuck", "1"), 0);
  const double stuck = sensed_mw();
  EXPECT_EQ(write(std::string(kGpu) + "max_freq", "1300500000"), 0);
  wait(std::chrono::seconds(5));
  EXPECT_DOUBLE_EQ(sensed_mw(), stuck);
  EXPECT_EQ(write_fault("sensor_stuck", "0"), 0);
  EXPECT_GT(sensed_mw(), stuck + 5000);
}

TEST_F(FaultsOfABoard, MakeTheSensorAbsurd) {
  const std::string current = monitor("1-0040") + "curr1_input";
  EXPECT_EQ(write_fault("sensor_absurd", "-40960"), 0);
  EXPECT_EQ(number(current), -40960);
  EXPECT_EQ(write_fault("sensor_absurd", "a lot"), EINVAL);
  EXPECT_EQ(write_fault("sensor_absurd", "none"), 0);
  EXPECT_GT(number(current), 0);
}

TEST_F(FaultsOfABoard, LetAnotherProgramWrite) {
  const std::string limit = std::string(kGpu) + "max_freq";
  EXPECT_EQ(write_fault("outside_writer", limit + " 408000000 1000"), 0);
  EXPECT_EQ(number(limit), 408000000) << "it begins at once";
  const std::uint64_t writes = board_->writes();
  EXPECT_EQ(write(limit, "612000000"), 0);
  wait(milliseconds(999));
  EXPECT_EQ(number(limit), 612000000);
  wait(milliseconds(1));
  EXPECT_EQ(number(limit), 408000000);
  EXPECT_EQ(board_->writes(), writes + 1) << "its writes are not ours";
  EXPECT_EQ(write(limit, "612000000"), 0);
  wait(milliseconds(10'500));
  EXPECT_EQ(number(limit), 408000000) << "however rarely one looks";
  EXPECT_EQ(write_fault("outside_writer", "none"), 0);
  EXPECT_EQ(write(limit, "612000000"), 0);
  wait(milliseconds(5000));
  EXPECT_EQ(number(limit), 612000000);
  for (const char* wrong : {"/no/such 1 1000", "/sys/class/devfreq", "max_freq 1"}) {
    EXPECT_EQ(write_fault("outside_writer", wrong), EINVAL) << wrong;
  }
  EXPECT_EQ(write_fault("outside_writer", limit + " 1 0"), EINVAL);
}

TEST_F(FaultsOfABoard, CloseFilesToWritersAndToReaders) {
  const std::string limit = std::string(kGpu) + "max_freq";
  EXPECT_EQ(write_fault("eacces", "/sys/class/devfreq/17000000.gpu"), 0);
  EXPECT_EQ(write(limit, "408000000"), EACCES);
  EXPECT_EQ(error_of(limit), 0);
  EXPECT_EQ(board_->permission(limit, FileAccess::write, true), EACCES);
  EXPECT_EQ(write_fault("eacces", "/sys/class/devfreq/17000000.gpu read"), 0);
  EXPECT_EQ(error_of(limit), EACCES);
  EXPECT_EQ(write(std::string(kCpu) + "cpufreq/policy0/scaling_max_freq", "1113600"), 0);
  EXPECT_EQ(write_fault("eacces", "none"), 0);
  EXPECT_EQ(write(limit, "408000000"), 0);
}

TEST_F(FaultsOfABoard, KeepFilesBusyForWriters) {
  const std::string limit = std::string(kGpu) + "max_freq";
  EXPECT_EQ(write_fault("ebusy", limit), 0);
  EXPECT_EQ(write(limit, "408000000"), EBUSY);
  EXPECT_EQ(error_of(limit), 0);
  EXPECT_EQ(write_fault("ebusy", "none"), 0);
  EXPECT_EQ(write(limit, "408000000"), 0);
}

TEST_F(FaultsOfABoard, MakeWhatRailsReadNoNumber) {
  const std::string rail = monitor("1-0040") + "curr2_input";
  const std::string before = read(rail);
  EXPECT_EQ(write_fault("sensor_garbage", "1"), 0);
  EXPECT_EQ(read(rail).front(), '?');
  EXPECT_EQ(write_fault("sensor_garbage", "0"), 0);
  EXPECT_EQ(read(rail), before);
}

TEST_F(FaultsOfABoard, BreakAndHideFiles) {
  const std::string limit = std::string(kGpu) + "max_freq";
  EXPECT_EQ(write_fault("eio", limit), 0);
  EXPECT_EQ(error_of(limit), EIO);
  EXPECT_EQ(write(limit, "408000000"), EIO);
  EXPECT_EQ(error_of(std::string(kGpu) + "min_freq"), 0);
  EXPECT_EQ(write_fault("enoent", "/sys/kernel/debug"), 0);
  EXPECT_EQ(error_of(std::string(kMemory) + "rate"), ENOENT);
  EXPECT_FALSE(board_->attributes("/sys/kernel/debug"));
  const auto names = board_->list("/sys/kernel");
  EXPECT_EQ(names.value(), std::vector<std::string>{"nvpmodel_clk_cap"});
}

TEST_F(FaultsOfABoard, SlowTheReadsOfRailsDown) {
  const std::string current = monitor("1-0040") + "curr1_input";
  EXPECT_EQ(board_->delay(current, FileAccess::read), Duration::zero());
  EXPECT_EQ(write_fault("block_read_ms", "430"), 0);
  EXPECT_EQ(board_->delay(current, FileAccess::read), milliseconds(430));
  EXPECT_EQ(board_->delay(monitor("1-0040") + "in1_label", FileAccess::read), Duration::zero());
  EXPECT_EQ(write_fault("block_read_ms", "10000"), 0);
  EXPECT_EQ(write_fault("block_read_ms", "10001"), EINVAL);
}

TEST_F(FilesOfABoard, HaveTheAttributesOfRealOnes) {
  const auto knob = board_->attributes(std::string(kGpu) + "max_freq");
  ASSERT_TRUE(knob);
  EXPECT_EQ(knob->mode, 0644);
  EXPECT_EQ(knob->size, 4096u);
  EXPECT_EQ(board_->attributes(std::string(kMemory) + "rate")->size, 0u);
  EXPECT_EQ(board_->attributes("/sys/kernel/debug")->mode, 0700);
  EXPECT_EQ(board_->attributes("/proc/device-tree/model")->size, 37u);
  EXPECT_EQ(board_->read("/proc/device-tree/model").text.back(), '\0');
  const auto link = board_->attributes("/sys/class/devfreq/17000000.gpu");
  EXPECT_EQ(link->kind, NodeKind::link);
  EXPECT_EQ(link->target, "../../devices/platform/bus@0/17000000.gpu/devfreq/17000000.gpu");
}

TEST_F(FilesOfABoard, CanBeOpenedByThoseWhoMay) {
  const std::string limit = std::string(kGpu) + "max_freq";
  EXPECT_EQ(board_->permission(limit, FileAccess::write, false), EACCES);
  EXPECT_EQ(board_->permission(limit, FileAccess::write, true), 0);
  EXPECT_EQ(board_->permission(limit, FileAccess::read, false), 0);
  EXPECT_EQ(board_->permission(std::string(kGpu) + "cur_freq", FileAccess::write, true), EACCES);
  EXPECT_EQ(board_->permission(std::string(kMemory) + "rate", FileAccess::read, false), EACCES);
  const std::string measured = std::string(kCpu) + "cpufreq/policy0/cpuinfo_cur_freq";
  EXPECT_EQ(board_->permission(measured, FileAccess::read, false), EACCES);
  EXPECT_EQ(board_->permission("/no/such", FileAccess::read, true), ENOENT);
}

TEST_F(FilesOfABoard, AnswerAsFilesAndFoldersDo) {
  EXPECT_EQ(error_of("/sys/nothing"), ENOENT);
  EXPECT_EQ(error_of("/sys/class"), EISDIR);
  EXPECT_EQ(write("/sys/class", "1"), EISDIR);
  EXPECT_EQ(write("/sys/nothing", "1"), ENOENT);
  EXPECT_FALSE(board_->list("/sys/nothing"));
  EXPECT_EQ(read("/sys/class/devfreq/../../class/devfreq/17000000.gpu/max_freq"), "612000000");
  EXPECT_EQ(read("/proc/sys/kernel/random/boot_id").size(), 36u);
}

TEST_F(FilesOfABoard, CountTheWritesToTheBoard) {
  EXPECT_EQ(write(std::string(kGpu) + "max_freq", "408000000"), 0);
  EXPECT_EQ(write(std::string(kGpu) + "max_freq", "nonsense"), EINVAL);
  EXPECT_EQ(write_fault("sensor_stuck", "0"), 0);
  EXPECT_EQ(read("/.virtual/writes"), "2");
}

}  // namespace
}  // namespace gearshift
