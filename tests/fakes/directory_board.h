// An AGX Orin (JetPack 6) as a tree of plain files, which a test changes and whose writes it
// records.
#pragma once

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "boards/board_description.h"
#include "boards/sysroot.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift::fakes {

// Plain files have no behaviour: settle() does what the kernel would (the mask of online cores, the
// clocks that follow limits). Texts have no newline, so that a restored tree has equal bytes.
class DirectoryBoard : public TempTree {
 public:
  static constexpr std::string_view kCpu = "/sys/devices/system/cpu";
  static constexpr std::string_view kGpu = "/sys/class/devfreq/17000000.gpu";
  static constexpr std::string_view kEmc = "/sys/kernel/debug/bpmp/debug/clk/emc";
  static constexpr std::string_view kCap = "/sys/kernel/nvpmodel_clk_cap/emc";
  static constexpr std::string_view kHwmon = "/sys/class/hwmon/hwmon3";
  static constexpr int kCores = 12;

  explicit DirectoryBoard(int online = 8) {
    make_cores(online);
    make_policies();
    make_gpu();
    make_memory();
    make_sensors();
    put("/proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555");
    settle();
  }
  ~DirectoryBoard() {
    if (inotify_ >= 0) close(inotify_);
  }

  static std::string cpu(int number) { return std::string(kCpu) + "/cpu" + std::to_string(number); }
  static std::string policy(int number) {
    return std::string(kCpu) + "/cpufreq/policy" + std::to_string(number);
  }
  static std::string gpu(std::string_view file) {
    return std::string(kGpu) + '/' + std::string(file);
  }
  static std::string emc(std::string_view file) {
    return std::string(kEmc) + '/' + std::string(file);
  }
  static std::string hwmon(std::string_view file) {
    return std::string(kHwmon) + '/' + std::string(file);
  }

  // The derived files, as the kernel would show them now.
  void settle() const {
    std::string mask;
    for (int core = 0; core < kCores; ++core) {
      if (get(cpu(core) + "/online") == "1")
        mask += (mask.empty() ? "" : ",") + std::to_string(core);
    }
    put(std::string(kCpu) + "/online", mask);
    put(gpu("cur_freq"), get(gpu("max_freq")));
  }

  // Every file of the tree with its bytes.
  std::map<std::string, std::string> bytes() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root())) {
      if (!entry.is_regular_file()) continue;
      const std::string path = "/" + entry.path().lexically_relative(root()).string();
      all[path] = get(path);
    }
    return all;
  }

  // Starts to record writes to the files below /sys.
  void record() {
    inotify_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    for (const auto& [path, text] : bytes()) {
      if (!path.starts_with("/sys")) continue;
      watched_[inotify_add_watch(inotify_, at(path).c_str(), IN_MODIFY)] = path;
    }
  }
  // The files written since record() or the last call, in order; writes to one file that follow
  // each other count once.
  std::vector<std::string> written() {
    std::vector<std::string> order;
    alignas(inotify_event) std::array<char, 65536> buffer;
    for (ssize_t size = 0; (size = ::read(inotify_, buffer.data(), buffer.size())) > 0;) {
      for (const char* at = buffer.data(); at < buffer.data() + size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(at);
        const std::string& path = watched_[event->wd];
        if (order.empty() || order.back() != path) order.push_back(path);
        at += sizeof(inotify_event) + event->len;
      }
    }
    return order;
  }

  // The board file's data, with small tables: the live tables are to win.
  BoardDescription description() const {
    BoardDescription board;
    board.id = "directory-board";
    const auto add = [&board](std::string name, Unit unit, KnobClass knob_class,
                              std::vector<std::int64_t> values, KnobDriver driver,
                              std::string path) {
      board.knobs.push_back(
          {{std::move(name), unit, knob_class, std::move(values)}, driver, std::move(path), {}});
    };
    add("cpu_cores", Unit::count, KnobClass::hotplug, {1, 2, 4, 8, 12}, KnobDriver::cpu_hotplug,
        std::string(kCpu));
    add("cpu_mhz", Unit::khz, KnobClass::clock, {1}, KnobDriver::cpufreq,
        std::string(kCpu) + "/cpufreq");
    add("gpu_mhz", Unit::khz, KnobClass::clock, {1}, KnobDriver::gpu_devfreq, "/sys/class/devfreq");
    board.knobs.back().device_names = {"ga10b", "gpu"};
    add("mem_mhz", Unit::khz, KnobClass::memory, {1}, KnobDriver::emc_bpmp,
        "/sys/kernel/debug/bpmp/debug");
    board.power.sources = {PowerSource::ina3221};
    board.power.rails = {
        {"VDD_GPU_SOC", 1}, {"VDD_CPU_CV", 1}, {"VIN_SYS_5V0", 1}, {"VDDQ_VDD2_1V8AO", 0}};
    board.power.period = std::chrono::milliseconds(100);
    board.power.window = board.power.judged_over = std::chrono::milliseconds(430);
    board.power.stale_after = std::chrono::milliseconds(1000);
    board.power.plausible_max_mw = 150'000;
    board.thermal_zones = {"cpu-therm", "gpu-therm", "tj-therm"};
    return board;
  }

 private:
  void make_cores(int online) const {
    put(std::string(kCpu) + "/possible", "0-11");
    for (int core = 0; core < kCores; ++core) put(cpu(core) + "/online", core < online ? "1" : "0");
  }

  void make_policies() const {
    for (const int number : {0, 4, 8}) {
      put(policy(number) + "/scaling_available_frequencies", "729600 1113600 1728000 2201600 ");
      put(policy(number) + "/scaling_min_freq", "729600");
      put(policy(number) + "/scaling_max_freq", "1728000");
    }
  }

  void make_gpu() const {
    const std::string device = "/sys/devices/platform/bus@0/17000000.gpu";
    const std::string node = device + "/devfreq/17000000.gpu";
    put(node + "/available_frequencies", "306000000 612000000 1109250000 1300500000");
    put(node + "/min_freq", "306000000");
    put(node + "/max_freq", "612000000");
    put(node + "/cur_freq", "612000000");
    put(device + "/of_node/name", std::string_view("gpu\0", 4));
    put(device + "/is_railgated", "no");
    link(node + "/device", "../..");
    link(kGpu, "../../devices/platform/bus@0/17000000.gpu/devfreq/17000000.gpu");
    for (const std::string_view decoy : {"15340000.vic", "15480000.nvdec"}) {
      const std::string folder = "/sys/class/devfreq/" + std::string(decoy);
      put(folder + "/min_freq", "0");
      put(folder + "/max_freq", "0");
      put(folder + "/device/of_node/name", decoy.substr(decoy.find('.') + 1));
    }
  }

  void make_memory() const {
    put("/sys/kernel/debug/bpmp/debug/emc/possible_rates", "204000 665600 2133000 3199000 (kHz)");
    put(emc("rate"), "2133000000");
    put(emc("state"), "1");
    put(emc("mrq_rate_locked"), "0");
    put(kCap, "2133000000");
  }

  void make_sensors() const {
    put("/sys/class/hwmon/hwmon0/name", "pwmfan");
    put(hwmon("name"), "ina3221");
    rail(1, "VDD_GPU_SOC", 19000, 400);
    rail(2, "VDD_CPU_CV", 19000, 200);
    rail(3, "VIN_SYS_5V0", 5000, 900);
    put(hwmon("in7_label"), "sum of shunt voltages");
    put("/sys/class/hwmon/hwmon4/name", "ina3221x");
    put("/sys/class/hwmon/hwmon4/in2_label", "VDDQ_VDD2_1V8AO");
    put("/sys/class/hwmon/hwmon4/in2_input", "5000");
    put("/sys/class/hwmon/hwmon4/curr2_input", "60");
    int number = 0;
    for (const std::string_view type : {"CPU-therm", "gpu-thermal", "cv0-thermal", "tj-thermal"}) {
      const std::string folder = "/sys/class/thermal/thermal_zone" + std::to_string(number++);
      put(folder + "/type", type);
      put(folder + "/temp", std::to_string(40'000 + number * 1'000));
    }
  }

  void rail(int channel, std::string_view label, int voltage_mv, int current_ma) const {
    const std::string number = std::to_string(channel);
    put(hwmon("in" + number + "_label"), label);
    put(hwmon("in" + number + "_input"), std::to_string(voltage_mv));
    put(hwmon("curr" + number + "_input"), std::to_string(current_ma));
  }

  int inotify_ = -1;
  std::map<int, std::string> watched_;
};

}  // namespace gearshift::fakes
