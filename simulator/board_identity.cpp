#include "simulator/board_identity.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "simulator/noise.h"

namespace gearshift {
namespace {

constexpr std::string_view kPlatform = "/sys/devices/platform";

Generation jetpack6() {
  Generation generation;
  generation.jetpack = 6;
  generation.l4t_release =
      "# R36 (release), REVISION: 4.4, GCID: 41062509, BOARD: generic, EABI: aarch64";
  generation.kernel_release = "5.15.148-tegra";
  generation.module = "nvidia,p3701-0005";
  const std::string platform(kPlatform);
  generation.gpu = {
      platform + "/bus@0/17000000.gpu", "gpu", {platform + "/17000000.gpu", platform + "/gpu.0"}};
  generation.i2c_device = platform + "/bus@0/c240000.i2c";
  generation.memory_cap_path = "/sys/kernel/nvpmodel_clk_cap/emc";
  return generation;
}

Generation jetpack5() {
  Generation generation;
  generation.jetpack = 5;
  generation.l4t_release =
      "# R34 (release), REVISION: 1.1, GCID: 30414990, BOARD: t186ref, EABI: aarch64";
  generation.kernel_release = "5.10.65-tegra";
  generation.module = "nvidia,p3701-0000";
  generation.gpu = {"/sys/devices/17000000.ga10b",
                    "ga10b",
                    {std::string(kPlatform) + "/17000000.ga10b", "/sys/devices/gpu.0"}};
  generation.i2c_device = std::string(kPlatform) + "/c240000.i2c";
  generation.memory_cap_path = "/sys/kernel/nvpmodel_emc_cap/emc_iso_cap";
  return generation;
}

// A random UUID of version 4, the same for a seed.
std::string boot_id(std::uint64_t seed) {
  const std::uint64_t high = noise_bits(seed, Stream::boot_id, 0);
  const std::uint64_t low = noise_bits(seed, Stream::boot_id, 1);
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%08x-%04x-4%03x-%04x-%012llx",
                static_cast<unsigned>(high >> 32), static_cast<unsigned>(high >> 16 & 0xffff),
                static_cast<unsigned>(high & 0xfff),
                static_cast<unsigned>(low >> 48 & 0x3fff) | 0x8000u,
                static_cast<unsigned long long>(low & 0xffffffffffffu));
  return text.data();
}

void add_device_tree(BoardTree& tree, const std::string& folder, const Generation& generation) {
  using std::string_literals::operator""s;
  const auto add = [&](const std::string& name, const std::string& text) {
    tree.add_file(folder + name, 0444, [text] { return FileText{text}; }).size_rule =
        SizeRule::exact;
  };
  const std::string carrier = "nvidia,p3737-0000+" + generation.module.substr(7);
  add("/compatible", carrier + '\0' + generation.module + "\0nvidia,tegra234\0"s);
  add("/model", "NVIDIA Jetson AGX Orin Developer Kit\0"s);
}

}  // namespace

Generation generation_of(const BoardDescription& board) {
  const auto unsuitable = [&](const std::string& why) {
    return std::invalid_argument("board " + board.id + " cannot be virtual: " + why +
                                 "; take jetson-agx-orin");
  };
  if (!board.model) throw unsuitable("its board file has no [model]");
  for (const std::string_view knob : {"cpu_cores", "cpu_mhz", "gpu_mhz", "mem_mhz"}) {
    if (!board.knob_space().find(knob)) throw unsuitable("it has no knob " + std::string(knob));
  }
  const auto has = [](const auto& list, const auto& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  for (const auto& [major, generation] : {std::pair(36, jetpack6()), std::pair(34, jetpack5())}) {
    if (has(board.l4t_majors, major) && has(board.compatible, generation.module)) return generation;
  }
  throw unsuitable("it is no AGX Orin with L4T 34 or 36");
}

bool can_be_virtual(const BoardDescription& board) {
  try {
    generation_of(board);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

void add_identity(BoardTree& tree, const Generation& generation, std::uint64_t seed) {
  add_device_tree(tree, "/sys/firmware/devicetree/base", generation);
  tree.add_link("/proc/device-tree", "/sys/firmware/devicetree/base");
  tree.add_text("/etc/nv_tegra_release", generation.l4t_release).size_rule = SizeRule::exact;
  tree.add_text("/var/lib/nvpmodel/status", "pmode:0002 fmode:fanNull").size_rule = SizeRule::exact;
  tree.add_text("/proc/sys/kernel/osrelease", generation.kernel_release).size_rule = SizeRule::zero;
  tree.add_text("/proc/sys/kernel/random/boot_id", boot_id(seed)).size_rule = SizeRule::zero;
  const std::string supply = "/sys/class/power_supply/ucsi-source-psy-2-00081/";
  tree.add_text(supply + "type", "USB");
  tree.add_text(supply + "online", "0");
  tree.add_text(supply + "voltage_now", "5000000");
  tree.add_text(supply + "current_now", "0");
}

std::vector<int> hwmon_numbers(std::uint64_t seed, int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::size_t last = numbers.size() - 1; last > 0; --last) {
    std::swap(numbers[last], numbers[noise_bits(seed, Stream::hwmon_order, last) % (last + 1)]);
  }
  return numbers;
}

void HwmonNeighbours::add_files(BoardTree& tree, const std::vector<int>& numbers) {
  const char* devices[kCount] = {"pwm-fan", "39c0000.tachometer", "soctherm-oc-event"};
  const char* names[kCount] = {"pwmfan", "pwm_tach", "soctherm_oc"};
  std::array<std::string, kCount> folders;
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::string hwmon = "hwmon" + std::to_string(numbers[i]);
    folders[i] = std::string(kPlatform) + '/' + devices[i] + "/hwmon/" + hwmon;
    tree.add_text(folders[i] + "/name", names[i]);
    tree.add_link("/sys/class/hwmon/" + hwmon, folders[i]);
  }
  tree.add_number(folders[0] + "/pwm1", fan_duty_,
                  [](std::int64_t value) { return value >= 0 && value <= 255; });
  tree.add_number(folders[0] + "/pwm1_enable", fan_enable_,
                  [](std::int64_t value) { return value >= 0 && value <= 2; });
  tree.add_file(folders[1] + "/rpm", 0444, [this] { return line(fan_duty_ * 4000 / 255); });
  for (const char* event : {"oc1", "oc2", "oc3"}) {
    tree.add_text(folders[2] + '/' + event + "_event_cnt", "0");
    tree.add_text(folders[2] + '/' + event + "_throt_en", "1");
  }
}

}  // namespace gearshift
