#include "sensors/power_supply.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

namespace gearshift {
namespace {

constexpr std::string_view kPowerSupply = "/sys/class/power_supply";
constexpr Duration kSlowPeriod = std::chrono::seconds(1);
// So long must another file, or another size, be the only one that fits.
constexpr Duration kPatience = std::chrono::seconds(10);
constexpr double kMostOfCapacity = 1.2;
// Gauges count whole percents: of fewer than these one is too large a part to tell the capacity by.
constexpr double kLeastPercentage = 5;
constexpr double kLeastVoltageV = 0.5;
constexpr double kMostVoltageV = 100;
constexpr double kMjInWh = 3.6e6;

struct FileName {
  std::string_view name;
  double units;  // of the file's integer in one unit of people
};
// In the order of PowerSupply::File.
constexpr FileName kNames[] = {
    {"energy_now", 1e6},         {"charge_now", 1e6},  {"capacity", 1},
    {"energy_full", 1e6},        {"charge_full", 1e6}, {"energy_full_design", 1e6},
    {"charge_full_design", 1e6}, {"voltage_now", 1e6}, {"current_now", 1e6},
    {"power_now", 1e6}};

// Why the supply is not the battery that the machine runs on; empty where it is.
std::string objection(const Sysroot& root, const std::string& folder) {
  const std::string type = root.try_read(folder + "/type").value_or("unreadable");
  if (type != "Battery") return "its type is " + type;
  if (root.try_read(folder + "/scope").value_or("System") == "Device") {
    return "its scope is Device: it powers a mouse or the like";
  }
  if (root.try_read(folder + "/present").value_or("1") == "0") return "it is not present";
  return "";
}

bool plausible_voltage(double voltage_v) {
  return voltage_v >= kLeastVoltageV && voltage_v <= kMostVoltageV;
}

std::string error_name(int code) {
  const char* name = strerrorname_np(code);
  return name != nullptr ? name : std::to_string(code);
}

}  // namespace

std::unique_ptr<PowerSupply> PowerSupply::open(std::optional<double> capacity_wh, Sysroot& root,
                                               std::vector<std::string>& findings) {
  std::unique_ptr<PowerSupply> found;
  const std::vector<std::string> names = root.list(kPowerSupply);
  for (const std::string& name : names) {
    const std::string folder = std::string(kPowerSupply) + '/' + name;
    std::string why = objection(root, folder);
    if (why.empty() && found) why = "the first one is taken";
    if (why.empty()) {
      std::unique_ptr<PowerSupply> supply(new PowerSupply(folder, capacity_wh, root));
      supply->read_slow();
      why = supply->silent_files();
      const bool sized = supply->capacity_wh_.has_value();
      if (supply->source_ && sized) {
        const std::size_t source = static_cast<std::size_t>(*supply->source_);
        findings.push_back("battery: power_supply " + name + " at " + folder + ", by " +
                           std::string(kNames[source].name) + (why.empty() ? "" : ": " + why));
        found = std::move(supply);
        continue;
      }
      if (supply->source_) {
        why = "it does not tell its full energy; give it, for example --battery 10Wh";
      } else if (why.empty()) {
        why = "it has neither energy_now, charge_now nor capacity";
      }
    }
    findings.push_back("battery: power_supply " + name + " passed over: " + why);
  }
  if (names.empty()) findings.push_back("battery: nothing below " + std::string(kPowerSupply));
  return found;
}

PowerSupply::PowerSupply(std::string folder, std::optional<double> capacity_wh, Sysroot& root)
    : root_(root),
      folder_(std::move(folder)),
      given_wh_(capacity_wh),
      status_(root.try_open(folder_ + "/status")) {
  for (std::size_t i = 0; i < kFiles; ++i) {
    files_[i] = root.try_open(folder_ + '/' + std::string(kNames[i].name));
  }
}

std::optional<double> PowerSupply::value(File file) {
  const auto i = static_cast<std::size_t>(file);
  if (!files_[i]) return std::nullopt;
  const auto number = files_[i]->try_read_integer();
  if (!number) {
    error_ = files_[i]->last_error();
    return std::nullopt;
  }
  return static_cast<double>(*number) / kNames[i].units;
}

// A gauge that does not know a size says 0: that is no battery of no capacity.
std::optional<double> PowerSupply::read_capacity_wh() {
  const auto above_nothing = [this](File file) {
    const auto size = value(file);
    return size && *size > 0 ? size : std::nullopt;
  };
  if (const auto full = above_nothing(File::energy_full)) return full;
  const bool has_voltage = voltage_v_ && plausible_voltage(*voltage_v_);
  if (const auto full = above_nothing(File::charge_full); full && has_voltage) {
    return *full * *voltage_v_;
  }
  if (given_wh_) return given_wh_;
  if (const auto design = above_nothing(File::energy_design)) return design;
  const auto design = above_nothing(File::charge_design);
  return design && has_voltage ? std::optional(*design * *voltage_v_) : std::nullopt;
}

// Once a battery: as the percentage falls, its steps are a larger part of it.
void PowerSupply::estimate_capacity() {
  const std::optional<double> percentage = value(File::percentage);
  if (!percentage || *percentage < kLeastPercentage || *percentage > 100) return;
  capacity_wh_ = *energy_wh_ / (*percentage / 100);
}

// A battery that was swapped behind files that never failed would be absurd for good.
void PowerSupply::estimate_again(Time now) {
  if (capacity_told_ || !energy_wh_ || !is_over_capacity(*energy_wh_)) {
    over_since_.reset();
    return;
  }
  if (!over_since_) over_since_ = now;
  if (now - *over_since_ >= kPatience) estimate_capacity();
}

bool PowerSupply::is_over_capacity(double energy_wh) const {
  return capacity_wh_ && energy_wh > kMostOfCapacity * *capacity_wh_;
}

std::optional<double> PowerSupply::read_energy_wh(File source) {
  const std::optional<double> told = value(source);
  if (!told || source == File::energy_now) return told;
  if (source == File::charge_now) {
    const bool has_voltage = voltage_v_ && plausible_voltage(*voltage_v_);
    return has_voltage ? std::optional(*told * *voltage_v_) : std::nullopt;
  }
  return capacity_wh_ ? std::optional(*told / 100 * *capacity_wh_) : std::nullopt;
}

// Why those of the files do not tell the energy that were asked in vain; empty where none was.
std::string PowerSupply::silent_files() const {
  std::string text;
  for (const File file : kEnergyFiles) {
    if (file == source_) break;
    const auto i = static_cast<std::size_t>(file);
    const std::string name(kNames[i].name);
    std::string why;
    if (!files_[i]) {
      if (root_.exists(folder_ + '/' + name)) why = " cannot be opened";
    } else if (const int code = files_[i]->last_error(); code != 0) {
      why = " cannot be read (" + error_name(code) + ")";
    } else {
      why = file == File::charge_now ? " goes with no voltage" : " goes with no full energy";
    }
    if (!why.empty()) text += (text.empty() ? "" : ", ") + name + why;
  }
  return text;
}

std::optional<double> PowerSupply::read_current_a() {
  std::optional<double> current = value(File::current_now);
  if (!current && voltage_v_ && *voltage_v_ > 0) {
    const auto power = value(File::power_now);
    if (power) current = *power / *voltage_v_;
  }
  if (!current) return std::nullopt;
  std::string_view status;
  try {
    if (status_) status = status_->read();
  } catch (const FileError& error) {
    error_ = error.code();
  }
  return status == "Charging" ? -std::abs(*current) : std::abs(*current);
}

void PowerSupply::read_slow() {
  voltage_v_ = value(File::voltage_now);
  const std::optional<double> told = read_capacity_wh();
  capacity_told_ = told.has_value();
  if (told) capacity_wh_ = told;
  energy_wh_.reset();
  for (const File file : kEnergyFiles) {
    if (source_.value_or(file) != file) continue;
    energy_wh_ = read_energy_wh(file);
    if (!energy_wh_) continue;
    source_ = file;
    break;
  }
  // A battery of nothing tells no size.
  if (energy_wh_.value_or(0) > 0 && !capacity_wh_) estimate_capacity();
}

void PowerSupply::open_again(Time now) {
  if (!objection(root_, folder_).empty()) return;
  PowerSupply anew(folder_, given_wh_, root_);
  anew.read_slow();
  if (!anew.energy_wh_ || !anew.capacity_wh_) return;
  if (anew.source_ != source_ && now - *silent_since_ < kPatience) return;
  source_ = anew.source_;
  files_ = std::move(anew.files_);
  status_ = std::move(anew.status_);
  voltage_v_ = anew.voltage_v_;
  capacity_wh_ = anew.capacity_wh_;
  capacity_told_ = anew.capacity_told_;
  energy_wh_ = anew.energy_wh_;
}

Reading PowerSupply::reading(Quantity quantity, std::optional<double> value, double scale,
                             Time now) const {
  Reading made{quantity, ReadingState::missing, false, 0, 0, now};
  if (!value) return made;
  made.value = std::llround(*value * scale);
  made.state = ReadingState::ok;
  if (quantity == Quantity::battery_voltage && !plausible_voltage(*value)) {
    made.state = ReadingState::absurd;
  }
  if (quantity == Quantity::battery_energy) {
    const bool dead = *value <= 0 && voltage_v_.value_or(0) >= kLeastVoltageV;
    if (*value < 0 || dead || is_over_capacity(*value)) made.state = ReadingState::absurd;
  }
  if (quantity == Quantity::battery_capacity && *value <= 0) made.state = ReadingState::absurd;
  return made;
}

void PowerSupply::read(Time now, std::vector<Reading>& readings) {
  if (!slow_read_ || now - *slow_read_ >= kSlowPeriod) {
    slow_read_ = now;
    read_slow();
    if (!energy_wh_) {
      if (!silent_since_) silent_since_ = now;
      open_again(now);
    }
    if (energy_wh_) silent_since_.reset();
    estimate_again(now);
    if (capacity_wh_) {
      readings.push_back(reading(Quantity::battery_capacity, capacity_wh_, kMjInWh, now));
    }
    readings.push_back(reading(Quantity::battery_energy, energy_wh_, kMjInWh, now));
  } else {
    voltage_v_ = value(File::voltage_now);
  }
  if (has(File::voltage_now)) {
    readings.push_back(reading(Quantity::battery_voltage, voltage_v_, 1000, now));
  }
  if (has(File::current_now) || has(File::power_now)) {
    readings.push_back(reading(Quantity::battery_current, read_current_a(), 1000, now));
  }
}

// That tells it, or would.
std::optional<PowerSupply::File> PowerSupply::file_of(Quantity quantity) const {
  switch (quantity) {
    case Quantity::battery_energy:
      return source_;
    case Quantity::battery_voltage:
      return File::voltage_now;
    case Quantity::battery_current:
      return has(File::current_now) ? File::current_now : File::power_now;
    default:
      return std::nullopt;
  }
}

// "energy_now 18.00 Wh is over 1.2 times the full energy, 10.00 Wh", for people.
std::string PowerSupply::absurdity(const Reading& reading) const {
  const auto amount = [](double value, const char* unit) {
    char text[48];
    std::snprintf(text, sizeof text, "%.2f %s", value, unit);
    return std::string(text);
  };
  const auto value = static_cast<double>(reading.value);
  const std::optional<File> file = file_of(reading.quantity);
  const std::string name =
      file ? std::string(kNames[static_cast<std::size_t>(*file)].name) : "full energy";
  if (reading.quantity == Quantity::battery_voltage) {
    return name + ' ' + amount(value / 1000, "V") + " is no reading of a battery";
  }
  const double energy_wh = value / kMjInWh;
  const std::string told = (!file || file == File::energy_now ? "" : "energy by ") + name + ' ' +
                           amount(energy_wh, "Wh");
  if (!is_over_capacity(energy_wh)) return told + " is no reading of a battery";
  return told + " is over 1.2 times the full energy, " + amount(*capacity_wh_, "Wh");
}

std::string PowerSupply::explain(const Reading& reading) const {
  if (reading.quantity < Quantity::battery_energy || reading.state == ReadingState::ok) return "";
  const std::string place = "battery at " + folder_ + ": ";
  if (reading.state == ReadingState::absurd) {
    return place + absurdity(reading);
  }
  const std::optional<File> file = file_of(reading.quantity);
  if (!file || !has(*file)) return place + (error_ != 0 ? error_name(error_) : "cannot be read");
  const auto i = static_cast<std::size_t>(*file);
  const int code = files_[i]->last_error();
  return place + std::string(kNames[i].name) + " cannot be read" +
         (code != 0 ? " (" + error_name(code) + ")" : "");
}

}  // namespace gearshift
