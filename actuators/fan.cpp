#include "actuators/fan.h"

#include <stdexcept>
#include <string_view>
#include <utility>

namespace gearshift {
namespace {

constexpr std::string_view kHwmon = "/sys/class/hwmon";  // JetPack 5 and later
constexpr std::string_view kJetPack4 = "/sys/devices/pwm-fan";
constexpr std::string_view kFull = "255";

}  // namespace

FanPin::FanPin(Sysroot& root, KnobJournal& journal) : root_(&root) {
  for (const std::string& entry : root.list(kHwmon)) {
    const std::string folder = std::string(kHwmon) + '/' + entry;
    if (root.try_read(folder + "/name").value_or("") != "pwmfan") continue;
    if (pin(journal, folder + "/pwm1_enable", "1", folder + "/pwm1")) return;
  }
  const std::string folder(kJetPack4);
  if (root.exists(folder)) pin(journal, folder + "/temp_control", "0", folder + "/target_pwm");
}

FanPin::FanPin(Sysroot& root, const std::string& why_not)
    : root_(&root), finding_("fan: not pinned: " + why_not) {}

FanPin::FanPin(Sysroot& root, std::string duty_path, std::string finding)
    : root_(&root), duty_path_(std::move(duty_path)), finding_(std::move(finding)) {}

// The switch hands the fan from the kernel to whoever writes the duty. It is saved only where it is
// turned: a restored duty has to hold unless the kernel has the fan again.
bool FanPin::pin(KnobJournal& journal, const std::string& switch_path, const char* manual,
                 const std::string& duty_path) {
  try {
    const std::string duty = root_->read(duty_path);
    const bool turns =
        root_->exists(switch_path) && root_->read(switch_path) != std::string_view(manual);
    if (turns) journal.save(SavedRole::fan_switch, switch_path, root_->read(switch_path));
    journal.save(SavedRole::fan_duty, duty_path, duty);
    journal.commit();
    if (turns) root_->write(switch_path, manual);
    root_->write(duty_path, kFull);
  } catch (const std::runtime_error& error) {
    finding_ = std::string("fan: not pinned: ") + error.what();
    return false;
  }
  duty_path_ = duty_path;
  finding_ = "fan: at full speed, " + duty_path;
  return true;
}

bool FanPin::lost() const {
  return !duty_path_.empty() && root_->try_read(duty_path_) != std::string(kFull);
}

}  // namespace gearshift
