#include "cli/simulated_mission.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "cli/flag_value.h"
#include "cli/units.h"
#include "trace/irradiance_csv.h"

namespace gearshift {
namespace {

using nlohmann::json;

double reserve_wh(const MissionFlags& flags, const SimulationProblem& problem) {
  return parse_percent(flags.goal.reserve) / 100 * problem.mission->supply.battery.capacity_wh;
}

double done_epochs(const MissionFlags& flags, const SimulationResult& result) {
  return static_cast<double>(result.mission->samples) /
         static_cast<double>(flags.samples_per_epoch);
}

// What the panel gives over the recorded day, times `share`.
std::vector<SuppliedPower> charger(const MissionFlags& flags, double share) {
  constexpr double kStandardWM2 = 1000;
  const double panel_w =
      static_cast<double>(flag_value("--panel", flags.panel, parse_power_mw)) / 1000;
  std::vector<SuppliedPower> steps;
  for (const Irradiance& sun : read_irradiance(flags.solar)) {
    steps.push_back({sun.after, share * panel_w * sun.w_m2 / kStandardWM2});
  }
  return steps;
}

double confidence(const MissionFlags& flags) {
  const double share = flag_value("--confidence", flags.confidence, parse_percent) / 100;
  if (share > 0 && share < 1) return share;
  throw std::invalid_argument(
      fmt::format("--confidence: '{}': give a share above 0% and below 100%", flags.confidence));
}

// Complains before anything runs. Epochs are the mission's end whatever the goal, and by a time
// beside them it is judged; a time alone is a plan's.
void check_goal(const MissionFlags& flags) {
  const auto options = make_battery_options(flags.goal);
  const bool serves = options && options->aim == BatteryAim::serve;
  if (!serves && !flags.goal.until.empty() && flags.goal.epochs == 0) {
    throw std::invalid_argument(fmt::format(
        "--until {}: says nothing with --battery-goal {} and no --epochs; leave it out, or give "
        "--epochs, for example 20, or --battery-goal serve",
        flags.goal.until, flags.goal.aim));
  }
  confidence(flags);
  if (!serves && flags.confidence != MissionFlags().confidence) {
    throw std::invalid_argument(fmt::format(
        "--confidence {}: only --battery-goal serve plans over the sun; leave it out, or give "
        "serve and --until",
        flags.confidence));
  }
}

// The end that was asked for: nullopt where there is no deadline.
std::optional<bool> in_time(const MissionFlags& flags, const SimulationResult& result) {
  if (flags.goal.until.empty() || flags.goal.epochs == 0) return std::nullopt;
  return result.ending == Ending::done && result.duration <= parse_duration(flags.goal.until);
}

// The last line of the recorded day stands for what comes after it: so long did it so, where it
// was no night. A file of one line means it.
double past_file_s(const SimulationProblem& problem, const SimulationResult& result) {
  const std::vector<SuppliedPower>& sun = problem.mission->supply.charger;
  if (sun.size() < 2 || sun.back().power_w <= 0) return 0;
  const Duration usual = sun.back().after - sun[sun.size() - 2].after;
  return std::max(0.0, seconds(result.duration - sun.back().after - usual));
}

// A hair below the reserve is shown in as many digits as tell it from the reserve.
std::string reserve_text(double least_wh, double reserve_wh) {
  constexpr int kMostDigits = 9;
  const bool kept = least_wh >= reserve_wh;
  int digits = 2;
  const auto text = [&](double wh) { return fmt::format("{:.{}f}", wh, digits); };
  while (!kept && digits < kMostDigits && text(least_wh) == text(reserve_wh)) ++digits;
  return fmt::format("  reserve  {}: never below {} Wh, {} Wh are the reserve\n",
                     kept ? "kept" : "broken", text(least_wh), text(reserve_wh));
}

}  // namespace

void add_mission_flags(CLI::App& command, MissionFlags& flags) {
  CLI::Option* battery = command.add_option(
      "--battery", flags.battery,
      "the board runs on a battery of this capacity, for example 10Wh: the run ends "
      "when the work is done, the battery empty or --duration over");
  command.add_option("--charge", flags.charge, "of the battery at the beginning")
      ->capture_default_str();
  command.add_option("--resistance", flags.resistance_ohm, "of the battery, ohm")
      ->capture_default_str();
  command.add_option("--cells", flags.cells, "of the battery, in series, 3.0 to 4.2 V each")
      ->capture_default_str();
  command.add_option("--other-power", flags.other_power,
                     "what else draws on the battery all the while, for example 5W");
  command
      .add_option("--samples-per-epoch", flags.samples_per_epoch, "of the training on a battery")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  CLI::Option* solar =
      command.add_option("--solar", flags.solar,
                         "recorded day (CSV: t_s, ghi_w_m2) whose sun charges the battery from its "
                         "beginning on, its last line until the end; a serve goal plans over it");
  command.add_option("--panel", flags.panel, "what the solar panel gives at 1000 W/m2")
      ->capture_default_str()
      ->needs(solar);
  command.add_option("--sun", flags.sun, "of the recorded day, what comes")
      ->capture_default_str()
      ->needs(solar);
  command
      .add_option("--confidence", flags.confidence,
                  "with which a plan over the sun keeps the reserve, where what comes deviates by "
                  "15 %")
      ->capture_default_str()
      ->needs(solar);
  add_battery_flags(command, flags.goal);
  command.get_option("--epochs")
      ->description(
          "of the training that the battery must last for; with them the run ends, whatever the "
          "goal");
  command.get_option("--until")->description(
      "from the start on, for example 2h; with --epochs the result says whether they were done by "
      "then, whatever the goal");
  // All of these say something of a battery, those of the sun by way of --solar.
  const std::vector<CLI::Option*> options = command.get_options();
  for (auto option = std::find(options.begin(), options.end(), battery) + 1;
       option != options.end(); ++option) {
    if ((*option)->get_needs().empty()) (*option)->needs(battery);
  }
}

void add_mission(const MissionFlags& flags, SimulationProblem& problem) {
  if (flags.battery.empty()) return;
  if (problem.tasks.front().kind != Kind::train) {
    throw std::invalid_argument("--battery: a mission is one of training; leave --problem train");
  }
  check_goal(flags);
  Mission mission;
  mission.supply.battery = {.capacity_wh = flag_value("--battery", flags.battery, parse_energy_wh),
                            .charge = flag_value("--charge", flags.charge, parse_percent) / 100,
                            .cells = flags.cells,
                            .resistance_ohm = flags.resistance_ohm,
                            .cutoff_v = 3.0 * flags.cells};
  mission.supply.battery.check();
  if (!flags.other_power.empty()) {
    mission.supply.other_w =
        static_cast<double>(flag_value("--other-power", flags.other_power, parse_power_mw)) / 1000;
  }
  if (!flags.solar.empty()) {
    mission.supply.charger = charger(flags, flag_value("--sun", flags.sun, parse_percent) / 100);
  }
  mission.samples = flags.goal.epochs * flags.samples_per_epoch;
  problem.tasks.front().samples_per_epoch = flags.samples_per_epoch;
  problem.mission = std::move(mission);
}

std::unique_ptr<BatteryLimit> make_battery_limit(const MissionFlags& flags,
                                                 const SimulationProblem& problem,
                                                 PredictWork predict, double pause_w) {
  if (!problem.mission) return nullptr;
  auto options = make_battery_options(flags.goal);
  if (!options) return nullptr;
  // Training may wait where the plan gains by it: with a time to fill and no requests to answer.
  if (options->aim == BatteryAim::serve) options->pause_w = pause_w;
  if (!flags.solar.empty()) {
    for (const SuppliedPower& step : charger(flags, 1)) {
      options->forecast.push_back({step.after, step.power_w});
    }
    options->confidence = confidence(flags);
  }
  return std::make_unique<BatteryLimit>(*options, std::move(predict));
}

json mission_json(const MissionFlags& flags, const SimulationProblem& problem,
                  const SimulationResult& result, const BatteryLimit* limit) {
  const MissionFigures& figures = *result.mission;
  const double reserve = reserve_wh(flags, problem);
  json out = {{"capacity_wh", problem.mission->supply.battery.capacity_wh},
              {"reserve_wh", reserve},
              {"energy_wh", figures.energy_wh},
              {"least_wh", figures.least_wh},
              {"reserve_kept", figures.least_wh >= reserve},
              {"lost_wh", figures.lost_wh},
              {"charged_wh", figures.charged_wh},
              {"offered_wh", figures.offered_wh},
              {"sun_past_file_s", past_file_s(problem, result)},
              {"samples", figures.samples},
              {"epochs", done_epochs(flags, result)},
              {"pauses", figures.pauses}};
  const auto met = in_time(flags, result);
  out["in_time"] = met ? json(*met) : json();
  out["goal"] = limit == nullptr ? json() : json(battery_aim_name(limit->aim()));
  if (limit != nullptr) {
    out["state"] = battery_state_name(limit->state());
    out["brown_outs"] = limit->brown_outs();
  }
  return out;
}

std::string end_text(const MissionFlags& flags, const SimulationProblem& problem,
                     const SimulationResult& result) {
  if (result.ending == Ending::done) return "done";
  if (result.ending != Ending::empty) {
    const std::string& until = flags.goal.until;
    const bool whole = !until.empty() && result.duration >= parse_duration(until);
    return whole ? "over, its time has passed," : "over, --duration has passed,";
  }
  constexpr double kShownWh = 0.005;  // as 0.01
  if (result.mission->energy_wh < kShownWh) return "over, the battery is empty,";
  return fmt::format("over, the battery cannot give this power above its cutoff of {:.3g} V,",
                     problem.mission->supply.battery.cutoff_v);
}

std::string mission_text(const MissionFlags& flags, const SimulationProblem& problem,
                         const SimulationResult& result, const BatteryLimit* limit) {
  const MissionFigures& figures = *result.mission;
  std::string text = fmt::format(
      "  mission  {} after {:.0f} s: {:.2f} epochs, {:.2f} of {:.2f} Wh left\n",
      end_text(flags, problem, result), seconds(result.duration), done_epochs(flags, result),
      figures.energy_wh, problem.mission->supply.battery.capacity_wh);
  if (const auto met = in_time(flags, result)) {
    text += fmt::format("  deadline {} ({})\n", *met ? "kept" : "missed", flags.goal.until);
  }
  text += reserve_text(figures.least_wh, reserve_wh(flags, problem));
  text += fmt::format("  battery  {:.2f} Wh lost in it{}\n", figures.lost_wh,
                      figures.offered_wh > 0
                          ? fmt::format(", {:.1f} of {:.1f} Wh taken that the charger offered",
                                        figures.charged_wh, figures.offered_wh)
                          : "");
  if (const double past_s = past_file_s(problem, result); past_s > 0) {
    text += fmt::format(
        "  sun      {} ends {:.0f} s before the run: its last line, {:.1f} W here, was taken for "
        "that time; end it with a line of 0 where that is night\n",
        flags.solar, past_s, problem.mission->supply.charger.back().power_w);
  }
  if (limit != nullptr) {
    text += fmt::format("  plan     {}; {} pauses, {} brown-outs\n", limit->describe(),
                        figures.pauses, limit->brown_outs());
  }
  return text;
}

}  // namespace gearshift
