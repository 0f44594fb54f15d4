#include "cli/battery_flags.h"

#include <spdlog/fmt/fmt.h>

#include <stdexcept>

#include "cli/flag_value.h"
#include "cli/units.h"

namespace gearshift {
namespace {

BatteryAim aim_of(const BatteryFlags& flags) {
  if (flags.aim.empty()) {
    if (flags.epochs > 0) return BatteryAim::finish;
    return flags.until.empty() ? BatteryAim::progress : BatteryAim::serve;
  }
  for (const BatteryAim aim :
       {BatteryAim::finish, BatteryAim::least_energy, BatteryAim::serve, BatteryAim::progress}) {
    if (battery_aim_name(aim) == flags.aim) return aim;
  }
  throw std::invalid_argument(
      fmt::format("--battery-goal '{}': allowed are finish, least-energy, serve, progress and none",
                  flags.aim));
}

// What only a plan holds, and would be dropped without one.
void refuse_unplanned(const BatteryFlags& flags) {
  const bool saves = flags.checkpoint != BatteryFlags().checkpoint;
  if (flags.brownout.empty() && !saves) return;
  throw std::invalid_argument(fmt::format(
      "{} {}: --battery-goal none plans nothing, and does not hold it; leave it out, or give "
      "another goal, for example progress",
      saves ? "--checkpoint" : "--brown-out", saves ? flags.checkpoint : flags.brownout));
}

}  // namespace

void add_battery_flags(CLI::App& command, BatteryFlags& flags) {
  command.add_option(
      "--battery-goal", flags.aim,
      "what the battery is spent on: finish (--epochs, as soon as its energy "
      "allows), least-energy (--epochs by --until), serve (most work until --until), "
      "progress (most work until the reserve) or none, where nothing plans "
      "(default: finish with --epochs, serve with --until alone, else progress)");
  command.add_option("--epochs", flags.epochs, "of the training that the battery must last for")
      ->check(CLI::Range(1U, 1'000'000U));
  command.add_option("--until", flags.until, "from the start on, for example 2h");
  command
      .add_option("--reserve", flags.reserve,
                  "share of the battery that is not used: there the workloads wait")
      ->capture_default_str();
  command
      .add_option("--checkpoint", flags.checkpoint,
                  "share of the battery above the reserve at which trainers that can are asked to "
                  "save their work, and then wait; 0%: never")
      ->capture_default_str();
  command.add_option("--brown-out", flags.brownout,
                     "voltage at the battery's terminals below which the lowest mode is held, for "
                     "example 9.5V");
}

std::optional<BatteryLimitOptions> make_battery_options(const BatteryFlags& flags) {
  BatteryLimitOptions options;
  options.reserve_share = flag_value("--reserve", flags.reserve, parse_percent) / 100;
  options.checkpoint_share = flag_value("--checkpoint", flags.checkpoint, parse_percent) / 100;
  if (!flags.brownout.empty()) {
    options.brownout_v = flag_value("--brown-out", flags.brownout, parse_voltage_v);
  }
  if (!flags.until.empty()) options.until = flag_value("--until", flags.until, parse_duration);
  options.epochs = flags.epochs;
  if (flags.aim == "none") {
    refuse_unplanned(flags);
    return std::nullopt;
  }
  options.aim = aim_of(flags);
  const bool counts = options.aim == BatteryAim::finish || options.aim == BatteryAim::least_energy;
  const bool ends = options.aim == BatteryAim::serve || options.aim == BatteryAim::least_energy;
  if (counts && options.epochs == 0) {
    throw std::invalid_argument(
        fmt::format("--battery-goal {}: needs --epochs, for example "
                    "--epochs 20",
                    battery_aim_name(options.aim)));
  }
  if (ends && !options.until) {
    throw std::invalid_argument(
        fmt::format("--battery-goal {}: needs --until, for example "
                    "--until 2h",
                    battery_aim_name(options.aim)));
  }
  return options;
}

}  // namespace gearshift
