#include "actuators/fan.h"

#include <string_view>

namespace gearshift {
namespace {

constexpr std::string_view kHwmon = "/sys/class/hwmon";  // JetPack 5 and later
constexpr std::string_view kJetPack4 = "/sys/devices/pwm-fan";
constexpr std::string_view kFull = "255";

}  // namespace

FanPin::FanPin(Sysroot& root) : root_(root) {
  for (const std::string& entry : root_.list(kHwmon)) {
    const std::string folder = std::string(kHwmon) + '/' + entry;
    if (root_.try_read(folder + "/name").value_or("") != "pwmfan") continue;
    if (pin(folder + "/pwm1_enable", "1", folder + "/pwm1")) return;
  }
  const std::string folder(kJetPack4);
  if (root_.exists(folder)) pin(folder + "/temp_control", "0", folder + "/target_pwm");
}

// The switch hands the fan from the kernel to whoever writes the duty.
bool FanPin::pin(const std::string& switch_path, const char* manual, const std::string& duty_path) {
  try {
    if (root_.exists(switch_path)) {
      saved_.push_back({switch_path, root_.read(switch_path)});
      root_.write(switch_path, manual);
    }
    saved_.push_back({duty_path, root_.read(duty_path)});
    root_.write(duty_path, kFull);
  } catch (const FileError& error) {
    finding_ = std::string("fan: not pinned: ") + error.what();
    return false;
  }
  duty_path_ = duty_path;
  finding_ = "fan: at full speed, " + duty_path;
  return true;
}

bool FanPin::lost() const {
  return !duty_path_.empty() && root_.try_read(duty_path_) != std::string(kFull);
}

FanPin::~FanPin() {
  for (auto saved = saved_.rbegin(); saved != saved_.rend(); ++saved) {
    try {
      root_.write(saved->path, saved->text);
    } catch (const FileError&) {
      continue;  // a fan that cannot be written back stays at full speed
    }
  }
}

}  // namespace gearshift
