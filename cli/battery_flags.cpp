#include "cli/battery_flags.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
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

// Where workloads that wait never went on they would wait for ever.
void check_reserve(const BatteryFlags& flags, const BatteryLimitOptions& options) {
  const double above = options.resumes_above(options.checkpoint_share);
  if (options.reserve_share + above < 1 - 1e-9) return;
  const bool saves = above > options.resume_share;
  throw std::invalid_argument(fmt::format(
      "--reserve {}{}: workloads that waited there would go on above {:.4g} % of the capacity, and "
      "no battery holds as much; give less than {:.4g}%{}",
      flags.reserve, saves ? " with --checkpoint " + flags.checkpoint : "",
      100 * (options.reserve_share + above), 100 * std::max(0.0, 1 - above),
      saves ? ", or a smaller --checkpoint" : ""));
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
  if (options.until && *options.until <= Duration::zero()) {
    throw std::invalid_argument("--until '" + flags.until + "': give a time above 0");
  }
  options.epochs = flags.epochs;
  if (flags.aim == "none") {
    refuse_unplanned(flags);
    return std::nullopt;
  }
  check_reserve(flags, options);
  options.aim = aim_of(flags);
  const bool counts = needs_samples(options.aim);
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

void refuse_unused(const BatteryFlags& flags, BatteryAim aim) {
  if (flags.epochs > 0 && !needs_samples(aim)) {
    throw std::invalid_argument(
        fmt::format("--epochs {}: --battery-goal {} counts no epochs; leave it out, or give finish "
                    "or least-energy",
                    flags.epochs, battery_aim_name(aim)));
  }
  if (!flags.until.empty() && aim == BatteryAim::progress) {
    throw std::invalid_argument(fmt::format(
        "--until {}: --battery-goal progress lasts until the reserve; leave it out, or give serve",
        flags.until));
  }
}

}  // namespace gearshift
