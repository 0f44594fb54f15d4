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
// A battery's voltage lies between these times its designed one; beyond it is one of another sort,
// of a cell say.
constexpr double kLeastOfDesign = 0.7;
constexpr double kMostOfDesign = 1.6;
constexpr double kMjInWh = 3.6e6;

struct FileName {
  std::string_view name;
  double units;  // of the file's integer in one unit of people
};
// In the order of PowerSupply::File.
constexpr FileName kNames[] = {
    {"energy_now", 1e6},         {"charge_now", 1e6},  {"capacity", 1},
    {"energy_full", 1e6},        {"charge_full", 1e6}, {"energy_full_design", 1e6},
    {"charge_full_design", 1e6}, {"voltage_now", 1e6}, {"voltage_min_design", 1e6},
    {"current_now", 1e6},        {"power_now", 1e6}};

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

// "11.10 V", for people.
std::string amount(double value, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, "%.2f %s", value, unit);
  return text;
}

std::string error_name(int code) {
  const char* name = strerrorname_np(code);
  return name != nullptr ? name : std::to_string(code);
}

}  // namespace

std::vector<std::unique_ptr<PowerSupply>> PowerSupply::open_all(
    std::optional<double> capacity_wh, Sysroot& root, std::vector<std::string>& findings) {
  std::vector<std::unique_ptr<PowerSupply>> found;
  const std::vector<std::string> names = root.list(kPowerSupply);
  for (const std::string& name : names) {
    const std::string folder = std::string(kPowerSupply) + '/' + name;
    std::string why = objection(root, folder);
    if (why.empty()) {
      std::unique_ptr<PowerSupply> supply(new PowerSupply(folder, capacity_wh, root));
      supply->read_slow();
      why = supply->silent_files();
      const bool sized = supply->capacity_wh_.has_value();
      if (supply->source_ && sized) {
        const std::size_t source = static_cast<std::size_t>(*supply->source_);
        findings.push_back("battery: power_supply " + name + " at " + folder + ", by " +
                           std::string(kNames[source].name) + supply->charge_text() +
                           (why.empty() ? "" : ": " + why));
        if (supply->takes_given_) capacity_wh.reset();  // no other one has the same
        found.push_back(std::move(supply));
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
  const std::optional<double> voltage_v = charge_voltage_v();
  if (const auto full = above_nothing(File::charge_full); full && voltage_v) {
    return *full * *voltage_v;
  }
  takes_given_ = given_wh_.has_value();
  if (given_wh_) return given_wh_;
  if (const auto design = above_nothing(File::energy_design)) return design;
  const auto design = above_nothing(File::charge_design);
  return design && voltage_v ? std::optional(*design * *voltage_v) : std::nullopt;
}

// Sysfs calls it the voltage of an empty battery, and most drivers give the nominal one: either way
// it promises no energy that is not there, and does not move with the load. It is judged by the
// first voltage that can be read, and believed until then.
void PowerSupply::read_design_voltage() {
  const std::optional<double> told_v = value(File::voltage_design);
  if (!told_v || (told_v == told_design_v_ && design_judged_)) return;
  told_design_v_ = told_v;
  design_judged_ = voltage_v_ && plausible_voltage(*voltage_v_);
  const bool fits = !design_judged_ || (*voltage_v_ >= kLeastOfDesign * *told_v &&
                                        *voltage_v_ <= kMostOfDesign * *told_v);
  design_v_ = plausible_voltage(*told_v) && fits ? told_v : std::nullopt;
}

std::optional<double> PowerSupply::charge_voltage_v() const {
  if (design_v_) return design_v_;
  return voltage_v_ && plausible_voltage(*voltage_v_) ? voltage_v_ : std::nullopt;
}

// By which voltage the energy is told, where it is by one.
std::string PowerSupply::charge_text() const {
  if (source_ != File::charge_now) return "";
  if (design_v_) return " times voltage_min_design, " + amount(*design_v_, "V");
  std::string present = " times voltage_now, so that a load that rises looks like a drain";
  if (!told_design_v_) return present;
  return present + " (voltage_min_design, " + amount(*told_design_v_, "V") + ", cannot be its)";
}

// Nullopt where nothing tells, or a percent is too large a part.
std::optional<PowerSupply::Sizes> PowerSupply::sizes_by_percentage() {
  const std::optional<double> percentage = value(File::percentage);
  if (!percentage || *percentage < kLeastPercentage || *percentage > 100) return std::nullopt;
  if (energy_wh_.value_or(0) <= 0) return std::nullopt;
  const double all_wh = 100 * *energy_wh_;
  return Sizes{all_wh / (*percentage + 1), all_wh / *percentage, all_wh / (*percentage - 1)};
}

// Once a battery: as the percentage falls, its steps are a larger part of it.
void PowerSupply::estimate_capacity() {
  if (const std::optional<Sizes> sizes = sizes_by_percentage()) capacity_wh_ = sizes->likely_wh;
}

// A battery that was swapped behind files that never failed would be absurd, or have the reserve of
// the one before, for good. What energy and percentage tell together drifts as a battery empties,
// and leaps only for another one.
void PowerSupply::estimate_again(Time now) {
  const std::optional<Sizes> sizes = capacity_told_ ? std::nullopt : sizes_by_percentage();
  const bool leapt = sizes && newest_sizes_ && sizes->differ_from(*newest_sizes_);
  const bool over = !capacity_told_ && energy_wh_ && is_over_capacity(*energy_wh_);
  if (leapt || over) {
    if (!another_since_) another_since_ = now;
    if (!sizes || now - *another_since_ < kPatience) return;
    capacity_wh_ = sizes->likely_wh;
  }
  another_since_.reset();
  if (sizes || capacity_told_) newest_sizes_ = sizes;
}

bool PowerSupply::Sizes::differ_from(const Sizes& other) const {
  return least_wh > kMostOfCapacity * other.most_wh || other.least_wh > kMostOfCapacity * most_wh;
}

bool PowerSupply::is_over_capacity(double energy_wh) const {
  return capacity_wh_ && energy_wh > kMostOfCapacity * *capacity_wh_;
}

std::optional<double> PowerSupply::read_energy_wh(File source) {
  const std::optional<double> told = value(source);
  if (!told || source == File::energy_now) return told;
  if (source == File::charge_now) {
    const std::optional<double> voltage_v = charge_voltage_v();
    return voltage_v ? std::optional(*told * *voltage_v) : std::nullopt;
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
  read_design_voltage();
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
  told_design_v_ = anew.told_design_v_;
  design_judged_ = anew.design_judged_;
  design_v_ = anew.design_v_;
  newest_sizes_.reset();
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
