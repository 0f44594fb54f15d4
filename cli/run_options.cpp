#include "cli/run_options.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <iterator>
#include <map>
#include <stdexcept>

#include "boards/toml_parse.h"
#include "cli/flag_value.h"
#include "cli/record_flag.h"
#include "cli/seed_flag.h"
#include "cli/state_folder.h"
#include "cli/toml_text.h"
#include "cli/units.h"

namespace gearshift {
namespace {

constexpr int kMostRecordingsKept = 100'000;

// One bit a day, of "mon", "tue" and so on.
std::uint8_t days_at(const std::string& file, const toml::node& node) {
  constexpr std::string_view kDays[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
  std::uint8_t days = 0;
  for (const std::string& text : texts_at(file, "days", node)) {
    const auto* const found = std::find(std::begin(kDays), std::end(kDays), text);
    if (found == std::end(kDays)) {
      fail_at(file, node,
              fmt::format("days: '{}': allowed are mon, tue, wed, thu, fri, sat and sun", text));
    }
    days = static_cast<std::uint8_t>(days | 1U << (found - std::begin(kDays)));
  }
  if (days == 0) fail_at(file, node, "days: none is given; leave the key out for every day");
  return days;
}

// Either a step after the start or one of the timetable.
void add_schedule_step(const std::string& file, const toml::node& node, RunOptions& options) {
  const toml::table* table = node.as_table();
  if (table == nullptr) fail_at(file, node, "schedule must be [[schedule]] tables");
  std::optional<Duration> after;
  std::optional<Duration> at;
  std::optional<std::int64_t> power_mw;
  std::uint8_t days = kEveryDay;
  for (const auto& [key, value] : *table) {
    try {
      if (key.str() == "after") {
        after = parse_duration(text_at(file, "after", value));
      } else if (key.str() == "at") {
        at = parse_time_of_day(text_at(file, "at", value));
      } else if (key.str() == "days") {
        days = days_at(file, value);
      } else if (key.str() == "power") {
        power_mw = parse_cap_mw(text_at(file, "power", value));
      } else {
        fail_at(file, value,
                fmt::format("unknown key {} in [[schedule]]; known: after, at, days, power",
                            key.str()));
      }
    } catch (const std::invalid_argument& error) {
      fail_at(file, value, fmt::format("{}: {}", key.str(), error.what()));
    }
  }
  if (table->get("power") == nullptr) {
    fail_at(file, node, "[[schedule]] needs power, for example power = \"20W\"");
  }
  if (after && at) {
    fail_at(file, node, "[[schedule]]: give after (the start) or at (a time of day), not both");
  }
  if (!at && table->get("days") != nullptr) {
    fail_at(file, node, "[[schedule]]: days needs at, for example at = \"08:00\"");
  }
  if (at) {
    options.timetable.push_back({days, *at, power_mw});
  } else if (after) {
    options.schedule.push_back({*after, power_mw});
  } else {
    fail_at(file, node, "[[schedule]] needs at, for example at = \"08:00\", or after = \"60s\"");
  }
}

}  // namespace

void add_gpu_flag(CLI::App& command, std::string& gpu) {
  command.add_option("--gpu", gpu,
                     "which NVIDIA GPU: an index, counted as nvidia-smi does, or a UUID "
                     "(default: the board file's, 0 for nvidia-gpu)");
}

void add_helper_flag(CLI::App& command, std::string& helper) {
  command.add_option("--helper", helper,
                     "socket of a gearshift helper, which sets the knobs for this process, so that "
                     "it needs no root (default: it sets them itself)");
}

void add_run_flags(CLI::App& command, RunOptions& options) {
  command
      .add_option("--board", options.board,
                  "auto, a board's id (see gearshift boards) or a board file")
      ->capture_default_str();
  add_gpu_flag(command, options.gpu);
  command
      .add_option("--sysroot", options.sysroot,
                  "prefix of the board's files: / or where a virtual board is mounted")
      ->capture_default_str();
  command
      .add_option("--policy", options.policy,
                  "what chooses the settings: the name of a shipped Lua script or the path of one")
      ->capture_default_str();
  command.add_option("--prior", options.prior,
                     "profiles of other workloads, or of this one on another day, that the policy "
                     "may learn from (see gearshift profile and export)");
  command.add_option("--power", options.power, "power cap of the board, for example 30W");
  add_goal_flags(command, options.goal,
                 "time, and throughput with --policy bayes where requests come beside training");
  command
      .add_option(
          "--thermal", options.thermal,
          "keep the board's thermal zones below the temperatures at which it is slowed down "
          "(auto), all of them below one, for example 70C, or off")
      ->capture_default_str();
  command.add_option(
      "--battery", options.battery,
      "the board runs on a battery: auto reads what is left in it from the kernel; a "
      "capacity, for example 10Wh, is for one that does not tell");
  command.add_option("--nut", options.nut,
                     "[UPS@]ADDRESS[:PORT] of a daemon of Network UPS Tools that knows the battery "
                     "(default: none is asked; 127.0.0.1 asks this machine's)");
  command
      .add_option("--charge", options.charge,
                  "of the battery at the start, where nothing tells what is left")
      ->capture_default_str();
  add_battery_flags(command, options.battery_goal);
  command.add_option("--listen", options.listen,
                     "endpoint for workloads: ipc://, loopback tcp://, and any tcp:// with keys "
                     "(default: workloads.ipc in the runtime folder)");
  command.add_option("--control", options.control,
                     "endpoint for cap, goal, status and stop (default: control.ipc beside it)");
  command.add_option("--keys", options.keys,
                     "folder of gearshift keys: who comes over tcp:// needs one of them, on "
                     "loopback too (default: keys in the state folder, for other addresses alone)");
  command.add_option("--config", options.config, "TOML file with any of these, and a [[schedule]]");
  command.add_option("--duration", options.duration, "stop after so long, for example 60s");
  add_seed_flag(command, options.seed, "seed of the policy's random numbers");
  command
      .add_option("--on-exit", options.on_exit,
                  "restore the knobs, keep the last setting, or leave the safe one")
      ->capture_default_str();
  command.add_option("--state", options.state,
                     std::string("folder of the knob journal; ") + kStateFolderDefault);
  add_helper_flag(command, options.helper);
  command.add_option("--record", options.record,
                     "record the run into this file, or with a slash at its end into a new file "
                     "in this folder, for gearshift replay and export");
  command.add_flag("--overwrite", options.overwrite, "replace a recording that is there already");
  command
      .add_option("--keep-recordings", options.keep_recordings,
                  "of the recordings in the folder of --record keep the newest so many, this run's "
                  "included, and remove older ones at the start (default: all are kept)")
      ->check(CLI::Range(1, kMostRecordingsKept));
  command.add_flag("--json", options.json, "one JSON object a line instead of text");
}

void read_run_config(const CLI::App& command, RunOptions& options) {
  if (options.config.empty()) return;
  apply_run_config(read_toml_file(options.config, "--config takes a file"), command, options);
}

namespace {

std::map<std::string_view, std::string*> text_flags(RunOptions& options) {
  return {{"board", &options.board},
          {"sysroot", &options.sysroot},
          {"gpu", &options.gpu},
          {"policy", &options.policy},
          {"power", &options.power},
          {"objective", &options.goal.objective},
          {"latency", &options.goal.latency},
          {"priced-power", &options.goal.priced_power},
          {"energy-per-sample", &options.goal.energy_per_sample},
          {"listen", &options.listen},
          {"control", &options.control},
          {"keys", &options.keys},
          {"duration", &options.duration},
          {"on-exit", &options.on_exit},
          {"state", &options.state},
          {"helper", &options.helper},
          {"record", &options.record},
          {"thermal", &options.thermal},
          {"battery", &options.battery},
          {"nut", &options.nut},
          {"charge", &options.charge},
          {"battery-goal", &options.battery_goal.aim},
          {"until", &options.battery_goal.until},
          {"reserve", &options.battery_goal.reserve},
          {"checkpoint", &options.battery_goal.checkpoint},
          {"brown-out", &options.battery_goal.brownout}};
}

// As a flag would have it: with all its digits, and no 5e-05, which is none of the forms of a flag.
std::string number_text(double number) {
  char text[400];
  const auto [end, error] =
      std::to_chars(std::begin(text), std::end(text), number, std::chars_format::fixed);
  assert(error == std::errc());
  return {text, end};
}

void take_count(const std::string& file, const std::string& name, const toml::node& value,
                RunOptions& options) {
  const auto count = value.value<std::int64_t>();
  if (!count || !value.is_integer() || *count < 0)
    fail_at(file, value, name + " must be an integer, 0 or more");
  if (name == "seed") {
    options.seed = static_cast<std::uint64_t>(*count);
    return;
  }
  if (name == "keep-recordings") {
    if (*count < 1 || *count > kMostRecordingsKept) {
      fail_at(file, value, fmt::format("{} must be 1 to {}", name, kMostRecordingsKept));
    }
    options.keep_recordings = static_cast<std::uint32_t>(*count);
    return;
  }
  if (*count < 1 || *count > 1'000'000) fail_at(file, value, "epochs must be 1 to 1000000");
  options.battery_goal.epochs = static_cast<std::uint32_t>(*count);
}

}  // namespace

void apply_run_config(std::string_view text, const CLI::App& command, RunOptions& options) {
  const std::string& file = options.config;
  const toml::table table = parse_toml(text, file);
  const std::map<std::string_view, std::string*> texts = text_flags(options);
  const std::map<std::string_view, std::string*> numbers = {
      {"energy-weight", &options.goal.energy_weight}, {"rate", &options.goal.rate}};
  const std::map<std::string_view, bool*> switches = {{"overwrite", &options.overwrite},
                                                      {"json", &options.json}};
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    if (name == "schedule") {
      const toml::array* steps = value.as_array();
      if (steps == nullptr) fail_at(file, value, "schedule must be [[schedule]] tables");
      for (const toml::node& step : *steps) add_schedule_step(file, step, options);
      continue;
    }
    const bool counts = name == "seed" || name == "epochs" || name == "keep-recordings";
    const bool known = counts || name == "prior" || texts.contains(name) ||
                       numbers.contains(name) || switches.contains(name);
    if (!known) {
      fail_at(file, value,
              "unknown key " + name +
                  "; known: the long flags of gearshift run but config, without --, and schedule");
    }
    if (command.count("--" + name) > 0) continue;  // a flag says otherwise
    options.config_lines[name] = value.source().begin.line;
    if (name == "prior") {
      options.prior = texts_at(file, name, value);
      continue;
    }
    if (numbers.contains(name)) {
      const auto number = value.value<double>();
      if (!number || !value.is_number()) fail_at(file, value, name + " must be a number");
      *numbers.at(name) = number_text(*number);
      continue;
    }
    if (switches.contains(name)) {
      const auto on = value.value_exact<bool>();
      if (!on) fail_at(file, value, name + " must be true or false");
      *switches.at(name) = *on;
    } else if (counts) {
      take_count(file, name, value, options);
    } else {
      *texts.at(name) = text_at(file, name, value);
    }
  }
}

namespace {

void plan_battery_use(const RunOptions& options, RunPlan& plan) {
  const BatteryFlags& goal = options.battery_goal;
  if (options.battery.empty()) {
    const BatteryFlags usual;
    const bool unused = goal.aim.empty() && goal.epochs == 0 && goal.until.empty() &&
                        goal.brownout.empty() && goal.reserve == usual.reserve &&
                        goal.checkpoint == usual.checkpoint &&
                        options.charge == RunOptions().charge && options.nut.empty();
    if (unused) return;
    throw std::runtime_error(
        "--battery-goal, --epochs, --until, --reserve, --checkpoint, --brown-out, --charge and "
        "--nut: give --battery too, auto or a capacity like 10Wh");
  }
  BatteryDescription battery;
  plan.battery_goal = make_battery_options(goal);
  if (plan.battery_goal) refuse_unused(goal, plan.battery_goal->aim);
  if (!plan.battery_goal &&
      (goal.epochs > 0 || !goal.until.empty() || goal.reserve != BatteryFlags().reserve)) {
    throw std::runtime_error(
        "--epochs, --until and --reserve: --battery-goal none plans nothing that would keep them; "
        "leave them out, or give another goal, for example progress");
  }
  if (options.battery != "auto") {
    battery.capacity_wh =
        flag_value("--battery (auto or a capacity)", options.battery, parse_energy_wh);
  }
  if (!options.nut.empty()) {
    battery.nut = flag_value("--nut", options.nut, parse_nut_address);
  }
  battery.charge = flag_value("--charge", options.charge, parse_percent) / 100;
  if (plan.battery_goal) plan.battery_goal->capacity_wh = battery.capacity_wh.value_or(0);
  plan.battery = battery;
}

RunPlan plan_of(const RunOptions& options) {
  RunPlan plan;
  if (options.policy.empty()) {
    throw std::runtime_error("--policy: empty; for example --policy bayes, or a script's path");
  }
  if (options.overwrite && options.record.empty()) {
    throw std::runtime_error("--overwrite belongs to --record; leave it out");
  }
  if (options.keep_recordings > 0 && options.record.empty()) {
    throw std::runtime_error("--keep-recordings belongs to --record FOLDER/; leave it out");
  }
  // Whatever is wrong with its recording, a service has a cap to guard.
  if (!options.record.empty() && !options.as_service) {
    check_record_flag({options.record, options.overwrite, options.keep_recordings});
  }
  if (!options.power.empty()) plan.power_mw = flag_value("--power", options.power, parse_power_mw);
  if (!options.duration.empty()) {
    plan.duration = flag_value("--duration", options.duration, parse_duration);
  }
  plan.goal = make_goal(options.goal);
  // Not every script searches beside requests: some refuse the objective.
  plan.goal.objective_by_default =
      options.goal.objective.empty() && options.policy == RunOptions{}.policy;
  plan.thermal = make_thermal_plan(options.thermal);
  plan_battery_use(options, plan);
  if (options.on_exit == "keep") {
    plan.on_exit = OnExit::keep;
  } else if (options.on_exit == "safe") {
    plan.on_exit = OnExit::safe;
  } else if (options.on_exit != "restore") {
    throw std::runtime_error(
        fmt::format("--on-exit '{}': allowed are restore, keep and safe", options.on_exit));
  }
  return plan;
}

}  // namespace

std::string complaint_of(const RunOptions& options, const std::string& complaint) {
  if (!complaint.starts_with("--")) return complaint;
  const std::string name = complaint.substr(2, complaint.find_first_of(" ,:", 2) - 2);
  const auto line = options.config_lines.find(name);
  if (line == options.config_lines.end()) return complaint;
  return fmt::format("{}:{}: {}", options.config, line->second, complaint.substr(2));
}

RunPlan make_run_plan(const RunOptions& options) {
  try {
    return plan_of(options);
  } catch (const std::exception& error) {
    throw std::runtime_error(complaint_of(options, error.what()));
  }
}

}  // namespace gearshift
