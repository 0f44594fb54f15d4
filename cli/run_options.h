// What `gearshift run` can be told: flags, and the same words in a TOML file.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/battery_flags.h"
#include "cli/goal_flags.h"
#include "cli/thermal_flag.h"
#include "controller/clock.h"
#include "controller/goal.h"
#include "limits/schedule_limit.h"
#include "sensors/open_battery.h"

namespace gearshift {

enum class OnExit : std::uint8_t { restore, keep, safe };

struct RunOptions {
  std::string board = "auto";  // auto, the id of a built-in board, or a board file
  std::string gpu;             // index or UUID; empty: the board file's
  std::string sysroot = "/";
  std::string policy = "bayes";    // a shipped script's name or a path
  std::vector<std::string> prior;  // tables of measurements that the policy may read
  std::string power;               // "30W"; empty: no cap
  GoalFlags goal;
  std::string thermal = "auto";  // off, or a temperature
  std::string battery;           // auto, or a capacity; empty: the board hangs on the mains
  std::string nut;               // [UPS@]ADDRESS[:PORT]; empty: none is asked
  std::string charge = "100%";   // at the start, where no gauge tells
  BatteryFlags battery_goal;
  std::string listen;
  std::string control;
  std::string keys;  // folder; empty: keys in the state folder, used where an endpoint needs them
  std::string config;
  std::string duration;  // "60s"; empty: until stopped
  std::string on_exit = "restore";
  std::string state;
  std::string helper;  // its socket; empty: this process sets the knobs itself
  std::string record;  // the recording's file, or with a slash its folder; empty: none
  bool overwrite = false;
  std::uint32_t keep_recordings = 0;  // in the folder of --record; 0: all
  bool as_service = false;            // somebody started it who does not read what it says
  std::uint64_t seed = 1;
  bool json = false;
  std::vector<ScheduleStep> schedule;                 // config file only
  std::vector<TimetableStep> timetable;               // config file only
  std::map<std::string, std::uint32_t> config_lines;  // where that file has what no flag said
};

// The same, checked and in our units.
struct RunPlan {
  std::optional<std::int64_t> power_mw;
  std::optional<Duration> duration;
  Goal goal;  // without the cap
  OnExit on_exit = OnExit::restore;
  ThermalPlan thermal;
  std::optional<BatteryDescription> battery;        // the machine's, to be read
  std::optional<BatteryLimitOptions> battery_goal;  // what it is spent on; it is only read without
};

// Of every command that opens a board.
void add_gpu_flag(CLI::App& command, std::string& gpu);
// Of every command that sets knobs.
void add_helper_flag(CLI::App& command, std::string& helper);

// Adds the flags to `command`.
void add_run_flags(CLI::App& command, RunOptions& options);

// Fills in from the file `options.config`, if one is given, what no flag of `command` has set.
// Throws std::runtime_error with file, line, key, value and what is allowed.
void read_run_config(const CLI::App& command, RunOptions& options);

// The same from a text; `options.config` names it in errors.
void apply_run_config(std::string_view text, const CLI::App& command, RunOptions& options);

// What is wrong with a flag, "--power: '20': give a power", with the file and the line instead of
// the flag where the config file has given the value.
std::string complaint_of(const RunOptions& options, const std::string& complaint);

// Throws std::runtime_error that names the option, or where the config file has it, its value and
// what is allowed.
RunPlan make_run_plan(const RunOptions& options);

}  // namespace gearshift
