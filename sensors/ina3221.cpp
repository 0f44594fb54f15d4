#include "sensors/ina3221.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <utility>

#include "sensors/hwmon.h"
#include "sensors/look_again.h"

namespace gearshift {
namespace {

constexpr int kLooksForAll = 3;

// Where reads block: a file beside the currents of the total is read after so many of them, and a
// voltage that could not be read since is taken for what it was for so long. Those of six rails
// take 20 s to have their turns.
constexpr int kCurrentsAnAside = 4;
constexpr Duration kVoltageHolds = std::chrono::seconds(60);

// A current reads in steps of 40 uV over its shunt, rounded down, and the chip's own offset is up
// to 80 uV either way: a rail that draws nothing reads down to three steps below it. What is
// further below is a sensor that is wired the wrong way, or broken. Where the shunt is not told it
// is taken for the 5 mOhm of most boards, which forgives less than a smaller one.
constexpr std::int64_t kOffsetNv = 3 * 40'000;
constexpr std::int64_t kUsualShuntUohm = 5000;
constexpr std::int64_t kLeastShuntUohm = 1000;

// Only these are rails: inputs 4 to 6 are shunt voltages and input 7 is their sum.
constexpr std::array<char, 3> kChannels = {'1', '2', '3'};

// One labelled channel of one monitor.
struct Channel {
  std::string label;
  std::string voltage_path;
  std::string current_path;
  std::int64_t least_ma = 0;  // of one that draws nothing
};

std::int64_t least_ma(const Sysroot& root, const std::string& shunt_path) {
  const std::string text = root.try_read(shunt_path).value_or("");
  std::int64_t shunt_uohm = 0;
  std::from_chars(text.data(), text.data() + text.size(), shunt_uohm);
  return -kOffsetNv / (shunt_uohm >= kLeastShuntUohm ? shunt_uohm : kUsualShuntUohm);
}

bool closed(int code) { return code == EACCES || code == EPERM; }

std::vector<Channel> find_channels(Sysroot& root, std::vector<std::string>& findings) {
  std::vector<Channel> channels;
  bool found = false;
  for (const std::string& entry : root.list(kHwmon)) {
    const std::string folder = std::string(kHwmon) + '/' + entry;
    if (!root.try_read(folder + "/name").value_or("").starts_with("ina3221")) continue;
    found = true;
    for (const char number : kChannels) {
      const std::string stem = folder + "/in" + number;
      try {
        channels.push_back({root.read(stem + "_label"), stem + "_input",
                            folder + "/curr" + number + "_input",
                            least_ma(root, folder + "/shunt" + number + "_resistor")});
      } catch (const FileError& error) {
        // A channel without a label file is one that the board does not use.
        if (closed(error.code())) {
          findings.push_back("power: the rails of the ina3221 at " + folder +
                             " are closed to this user; run as root: " + error.what());
        }
      }
    }
  }
  if (!found) findings.push_back("power: no ina3221 below " + std::string(kHwmon));
  return channels;
}

const Channel* find(const std::vector<Channel>& channels, const std::string& label) {
  for (const Channel& channel : channels) {
    if (channel.label == label) return &channel;
  }
  return nullptr;
}

// A rail that is dead from the start, and why.
struct DeadRail {
  const RailDescription& rail;
  std::string why;
};

std::string finding_of(const DeadRail& dead, int living_in_total) {
  std::string text = "power: rail " + dead.rail.label + " cannot be read (" + dead.why + ")";
  if (dead.rail.sign == 0) return text + "; it is not part of the total, which is not affected";
  if (living_in_total == 0) return text;
  return text + "; the total counts it as " + std::to_string(kDeadRailShare) +
         " times the other rails and is an estimate";
}

}  // namespace

Ina3221::Found Ina3221::look(const PowerDescription& power, Sysroot& root,
                             std::vector<std::string>& findings) {
  Found found;
  const std::vector<Channel> channels = find_channels(root, findings);
  if (channels.empty()) return found;
  std::vector<DeadRail> dead;
  for (std::size_t i = 0; i < power.rails.size(); ++i) {
    const RailDescription& description = power.rails[i];
    const bool in_total = description.sign != 0;
    const Channel* channel = find(channels, description.label);
    try {
      if (channel == nullptr) throw FileError("no channel has this label", ENOENT);
      Rail rail{static_cast<std::uint8_t>(i),
                description.label,
                in_total,
                root.open(channel->voltage_path),
                root.open(channel->current_path),
                channel->least_ma};
      rail.read_mv = rail.voltage_mv.read_integer();
      rail.read_ma = rail.current_ma.read_integer();
      findings.push_back("power: rail " + rail.label + " at " + channel->voltage_path);
      found.rails.push_back(std::move(rail));
      found.living_in_total += in_total;
    } catch (const FileError& error) {
      dead.push_back({description, error.what()});
      found.dead_in_total += in_total;
    }
  }
  for (const DeadRail& one : dead) findings.push_back(finding_of(one, found.living_in_total));
  if (found.living_in_total == 0) {
    findings.push_back("power: not one rail of the board's total can be read from an ina3221");
  }
  return found;
}

std::unique_ptr<Ina3221> Ina3221::open(const PowerDescription& power, Sysroot& root,
                                       std::vector<std::string>& findings, const Clock* clock) {
  Found found = look(power, root, findings);
  if (found.living_in_total == 0) return nullptr;
  return std::unique_ptr<Ina3221>(new Ina3221(std::move(found), power, root, "", clock));
}

std::unique_ptr<Ina3221> Ina3221::awaited(const PowerDescription& power, Sysroot& root,
                                          std::string why, const Clock* clock) {
  return std::unique_ptr<Ina3221>(new Ina3221({}, power, root, std::move(why), clock));
}

Ina3221::Ina3221(Found found, const PowerDescription& power, Sysroot& root, std::string why,
                 const Clock* clock)
    : power_(power), root_(root), why_(std::move(why)), clock_(clock) {
  adopt(std::move(found));
}

// What the look has read is new.
void Ina3221::adopt(Found found) {
  found_ = std::move(found);
  for (Rail& rail : found_.rails) rail.voltage_taken = rail.taken = time_or({});
}

void Ina3221::look_again(Time now) {
  const auto lost = [](const Rail& rail) { return rail.error != 0; };
  const std::vector<Rail>& rails = found_.rails;
  if (!rails.empty() && std::none_of(rails.begin(), rails.end(), lost)) return;
  if (interrupted_.load(std::memory_order_relaxed)) return;
  if (looked_ && now - *looked_ < kLookEvery) return;
  looked_ = now;
  rails.empty() ? await_rails() : reopen_lost();
}

// Monitors come one after the other: the first look that finds one may be too early for the next.
void Ina3221::await_rails() {
  std::vector<std::string> findings;
  Found found = look(power_, root_, findings);
  why_.look_found(findings);
  if (found.living_in_total == 0) return;
  if (found.dead_in_total > 0 && ++looks_ < kLooksForAll) return;
  adopt(std::move(found));
}

void Ina3221::reopen_lost() {
  std::vector<std::string> findings;
  const std::vector<Channel> channels = find_channels(root_, findings);
  for (Rail& rail : found_.rails) {
    const Channel* channel = find(channels, rail.label);
    if (rail.error == 0 || channel == nullptr) continue;
    try {
      DeviceFile voltage_mv = root_.open(channel->voltage_path);
      DeviceFile current_ma = root_.open(channel->current_path);
      rail.read_mv = voltage_mv.read_integer();
      rail.read_ma = current_ma.read_integer();
      rail.voltage_taken = rail.taken = time_or({});
      rail.error = 0;
      rail.voltage_mv = std::move(voltage_mv);
      rail.current_ma = std::move(current_ma);
      rail.least_ma = channel->least_ma;
    } catch (const FileError&) {
      continue;  // the rail says why it cannot be read
    }
  }
}

void Ina3221::read_voltage(Rail& rail, Time now) {
  rail.at_current = false;
  rail.error = EINTR;
  if (interrupted_.load(std::memory_order_relaxed)) return;
  const std::optional<std::int64_t> voltage_mv = rail.voltage_mv.try_read_integer();
  rail.error = rail.voltage_mv.last_error();
  if (!voltage_mv) return;
  rail.read_mv = *voltage_mv;
  rail.voltage_taken = time_or(now);
}

void Ina3221::read_current(Rail& rail, Time now) {
  rail.at_current = true;
  rail.error = EINTR;
  if (interrupted_.load(std::memory_order_relaxed)) return;
  const Time begin = time_or(now);
  const std::optional<std::int64_t> current_ma = rail.current_ma.try_read_integer();
  rail.error = rail.current_ma.last_error();
  if (!current_ma) return;
  rail.read_ma = *current_ma;
  rail.taken = shown_at(begin, time_or(now));
}

void Ina3221::read_all(Time now) {
  for (Rail& rail : found_.rails) {
    read_voltage(rail, now);
    if (rail.error == 0) read_current(rail, now);
  }
}

void Ina3221::read_in_turn(Time now) {
  if (currents_read_ >= kCurrentsAnAside) {
    currents_read_ = 0;
    read_aside();
  }
  for (auto rail = found_.rails.rbegin(); rail != found_.rails.rend(); ++rail) {
    if (rail->in_total) {
      read_current(*rail, now);
      ++currents_read_;
    }
    if (rail->error != 0 || now - rail->voltage_taken <= kVoltageHolds) continue;
    rail->at_current = false;
    rail->error = rail->voltage_mv.last_error() != 0 ? rail->voltage_mv.last_error() : ETIME;
  }
}

// The voltage of a rail, or the current of one outside the total. A voltage that cannot be read is
// what it was, until that is too old. One that has moved by more than a tenth is read twice, since
// it stays for long: until then power is told by the higher one.
void Ina3221::read_aside() {
  if (interrupted_.load(std::memory_order_relaxed)) return;
  Rail* rail = &found_.rails[aside_ / 2 % found_.rails.size()];
  if (aside_ % 2 == 1 && rail->in_total) {
    ++aside_;
    rail = &found_.rails[aside_ / 2 % found_.rails.size()];
  }
  if (aside_++ % 2 == 1) {
    read_current(*rail, {});
    return;
  }
  const std::optional<std::int64_t> voltage_mv = rail->voltage_mv.try_read_integer();
  if (!voltage_mv) return;
  const std::int64_t before_mv = rail->read_mv;
  rail->voltage_taken = clock_->now();
  rail->read_mv = *voltage_mv;
  const auto change_mv = static_cast<double>(*voltage_mv) - static_cast<double>(before_mv);
  rail->jumped = !rail->jumped && std::abs(change_mv) > static_cast<double>(before_mv) / 10;
  if (!rail->jumped) return;
  rail->read_mv = std::max(*voltage_mv, before_mv);
  --aside_;
}

std::optional<std::int64_t> Ina3221::power_uw(Rail& rail) {
  if (rail.error != 0) return std::nullopt;
  if (rail.read_ma < 0 && rail.read_ma >= rail.least_ma) return 0;
  std::int64_t power_uw = 0;
  if (__builtin_mul_overflow(rail.read_mv, rail.read_ma, &power_uw) ||
      power_uw > INT64_MAX / 1000 || power_uw < INT64_MIN / 1000) {
    rail.error = ERANGE;
    return std::nullopt;
  }
  return power_uw;
}

Reading Ina3221::judged(Quantity quantity, std::uint8_t channel, std::int64_t power_uw,
                        Time taken) const {
  Reading reading{quantity, ReadingState::ok, false, channel, (power_uw + 500) / 1000, taken};
  // A rail may draw nothing; a board that runs does not.
  const bool nothing = quantity == Quantity::power && reading.value == 0;
  if (power_uw < 0 || nothing || reading.value > power_.plausible_max_mw) {
    reading.state = ReadingState::absurd;
  }
  return reading;
}

void Ina3221::read(Time now, std::vector<Reading>& readings) {
  look_again(now);
  if (found_.rails.empty()) {
    readings.push_back({Quantity::power, ReadingState::missing, false, 0, 0, now});
    return;
  }
  clock_ != nullptr ? read_in_turn(now) : read_all(now);
  add_up(now, readings);
}

void Ina3221::add_up(Time now, std::vector<Reading>& readings) {
  const std::size_t total_at = readings.size();
  readings.emplace_back();
  std::int64_t total_uw = 0;
  Time oldest = Time::max();
  bool complete = true;
  bool absurd = false;
  for (Rail& rail : found_.rails) {
    const std::optional<std::int64_t> rail_uw = power_uw(rail);
    rail.absurd = false;
    if (!rail_uw) {
      readings.push_back(
          {Quantity::rail_power, ReadingState::missing, false, rail.channel, 0, now});
      complete = complete && !rail.in_total;
      continue;
    }
    readings.push_back(judged(Quantity::rail_power, rail.channel, *rail_uw, rail.taken));
    rail.absurd = readings.back().state == ReadingState::absurd;
    if (!rail.in_total) continue;
    absurd = absurd || rail.absurd;
    total_uw += *rail_uw;
    oldest = std::min(oldest, rail.taken);
  }
  total_uw *= 1 + kDeadRailShare * found_.dead_in_total;
  Reading total{Quantity::power, ReadingState::missing, false, 0, 0, now};
  if (complete) {
    total = judged(Quantity::power, 0, total_uw, oldest);
    if (absurd) total.state = ReadingState::absurd;
  } else if (complete_ && now - complete_->taken <= power_.stale_after) {
    total = *complete_;
  }
  total.estimate = estimates();
  if (complete) {
    complete_.reset();
    if (total.state == ReadingState::ok) complete_ = total;
  }
  readings[total_at] = total;
}

std::string Ina3221::explain(const Reading& reading) const {
  if (reading.state == ReadingState::ok) return "";
  if (found_.rails.empty()) return why_.text();
  const bool absurd = reading.state == ReadingState::absurd;
  const bool is_total = reading.quantity == Quantity::power;
  std::string text;
  for (const Rail& rail : found_.rails) {
    if (is_total ? !rail.in_total : rail.channel != reading.channel) continue;
    if (absurd ? !rail.absurd : rail.error == 0) continue;
    if (!text.empty()) text += "; ";
    text += rail.label + " at " + (rail.at_current ? rail.current_ma : rail.voltage_mv).path();
    text += absurd ? ": " + std::to_string(rail.read_mv) + " mV times " +
                         std::to_string(rail.read_ma) + " mA"
                   : ": " + error_text(rail.error);
  }
  if (!absurd) return text;
  if (is_total && reading.value == 0 && text.empty()) {
    return "0 mW on all rails together, which a board that runs cannot draw";
  }
  if (text.empty()) text = std::to_string(reading.value) + " mW on all rails together";
  return text + " is outside 0 to " + std::to_string(power_.plausible_max_mw) +
         " mW, which no reading of this board can be";
}

}  // namespace gearshift
