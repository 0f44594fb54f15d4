// `gearshift profile`: measures a workload in every mode of a grid, into a profile.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "actuators/fan.h"
#include "cli/commands.h"
#include "cli/flag_value.h"
#include "cli/json_recorder.h"
#include "cli/live_run.h"
#include "cli/note_text.h"
#include "cli/output_files.h"
#include "cli/profile_knobs.h"
#include "cli/profile_progress.h"
#include "cli/simulated_problem.h"
#include "cli/state_folder.h"
#include "cli/tell.h"
#include "cli/units.h"
#include "trace/profile_csv.h"
#include "trace/replace_file.h"

namespace gearshift {
namespace {

// At 115 MHz on one core a minibatch takes half a minute, and 40 are wanted.
constexpr Duration kMostTime = std::chrono::minutes(60);

struct ProfileOptions {
  RunOptions run;
  std::vector<std::string> keep;
  std::vector<std::int32_t> batch_sizes;
  std::uint32_t minibatches = 40;
  std::string order = "descend";
  std::string fan = "pin";
  std::string out;
};

// The protocol of PowerTrain (section 2.5): the first minibatch is dropped, power settles in a
// sliding window, and then so many minibatches are timed.
MeterOptions protocol(std::uint32_t minibatches) {
  MeterOptions meter;
  meter.least_minibatches = minibatches;
  meter.most_minibatches = minibatches;
  meter.most_time = kMostTime;
  return meter;
}

// With the knobs in the order of the board's.
std::vector<Profile> known_profiles(const std::string& file, const KnobSpace& board) {
  if (!std::filesystem::exists(file)) return {};
  std::vector<Profile> profiles = read_profiles(file);
  for (Profile& profile : profiles) profile = in_order_of(board, profile);
  return profiles;
}

void print_end(const ProfileOptions& options, const KnobSpace& knobs, const SweepPolicy& policy,
               const ProfileProgress& progress, const LiveRun::Result& result) {
  const double energy_j = result.ledger.energy_j();
  const double duration_s = seconds(result.summary.duration);
  if (options.run.json) {
    nlohmann::json line = {{"note", "summary"},
                           {"measured", progress.measured()},
                           {"estimated", progress.estimated()},
                           {"known", policy.skipped()},
                           {"complete", policy.done()},
                           {"duration_s", duration_s},
                           {"energy_j", energy_j},
                           {"batch_sizes_not_offered", policy.not_offered()},
                           {"left_out", nlohmann::json::array()}};
    for (const auto& [setting, why] : progress.left_out()) {
      line["left_out"].push_back({{"setting", to_json(knobs, setting)}, {"reason", why}});
    }
    tell(stdout, "{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  tell(stdout, "{}: {} settings measured, {} were there already\n", options.out,
       progress.measured(), policy.skipped());
  if (progress.estimated() > 0) {
    tell(stdout,
         "the power of {} of {} settings is an estimate, wholly or in part, and not measured\n",
         progress.estimated(), progress.measured());
  }
  if (!policy.done()) {
    tell(stdout, "stopped before the end: the same command goes on from here\n");
  }
  if (!policy.not_offered().empty()) {
    tell(stdout, "left out, batch sizes that {} does not offer: {}; it offers {}\n",
         policy.workload(), fmt::join(policy.not_offered(), ", "),
         fmt::join(policy.offered(), ", "));
  }
  if (!progress.left_out().empty()) {
    tell(stdout, "left out, {} settings; the same command tries them again:\n",
         progress.left_out().size());
  }
  for (const auto& [setting, why] : progress.left_out()) {
    tell(stdout, "  {}: {}\n", describe(knobs, setting), why);
  }
  tell(stdout, "it took {:.0f} s and {:.0f} J\n", duration_s, energy_j);
}

// False where none of the batch sizes that were asked for can be measured.
bool profile(const ProfileOptions& options, const RunPlan& plan) {
  CommandFiles files;
  files.reads_board("--board", options.run.board);
  files.writes_no_stream("-o", options.out);
  files.check();
  prepare_signals();
  use_all_descriptors();
  check_replaceable(options.out);
  LiveRun live(options.run, plan);
  const KnobSpace grid = keep_values(live.knobs(), options.keep);
  const SweepOrder order = options.order == "ascend" ? SweepOrder::ascend : SweepOrder::descend;
  std::vector<Profile> known = known_profiles(options.out, live.knobs());
  SweepPolicy policy(live.traits().name, sweep_modes(grid, order), options.batch_sizes, known);
  live.controller_options().meter = protocol(options.minibatches);
  live.controller_options().most_measurements = std::numeric_limits<std::uint32_t>::max();

  std::optional<FanPin> fan;
  if (options.fan == "pin") fan.emplace(live.pin_fan());
  if (!options.run.json) {
    for (const std::string& finding : live.findings()) tell(stdout, "{}\n", finding);
    if (fan) tell(stdout, "  {}\n", fan->finding());
    tell(stdout, "{} modes to measure, into {}\nlistening on {}\n", grid.mode_count(), options.out,
         live.workload_endpoint());
    std::fflush(stdout);
  } else {
    for (const std::string& complaint : live.complaints()) {
      tell(stderr, "gearshift profile: {}\n", complaint);
    }
  }
  Outlet out(STDOUT_FILENO, options.run.json ? json_gap : gap_text);
  ProfileProgress progress(policy, live.knobs(), std::move(known),
                           {options.out, live.traits().name, options.run.json}, out);
  bool fan_lost = false;
  const auto done = [&] {
    fan_lost = fan_lost || (fan && fan->lost());
    return policy.done();
  };
  const LiveRun::Result result =
      live.run(policy, progress, done, "every setting has been measured");
  if (fan_lost) {
    std::fprintf(stderr,
                 "gearshift profile: another program turned the fan back; stop "
                 "nvfancontrol.service while a board is measured\n");
  }
  print_end(options, live.knobs(), policy, progress, result);
  std::fflush(stdout);
  return policy.not_offered().empty() || policy.total() + policy.skipped() > 0;
}

void add_profile_flags(CLI::App& command, ProfileOptions& options) {
  RunOptions& run = options.run;
  command
      .add_option("-o,--output", options.out,
                  "the profile's CSV file; rows in it are not measured again")
      ->required();
  command.add_option("--keep", options.keep,
                     "KNOB=A,B,C: only these values of the knob, in the unit people read (may be "
                     "given again; of one knob, those that all of them have; default: all)");
  command
      .add_option("--batch", options.batch_sizes,
                  "batch sizes, with commas (default: the one in use)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command
      .add_option("--minibatches", options.minibatches, "timed for a setting, once power is steady")
      ->check(CLI::Range(std::uint32_t{3}, Meter::kMostSamples))
      ->capture_default_str();
  command
      .add_option("--order", options.order,
                  "descend: clocks go down, for boards that take a higher one only after a "
                  "reboot; or ascend")
      ->check(CLI::IsMember({"descend", "ascend"}))
      ->capture_default_str();
  command.add_option("--fan", options.fan, "pin the fan at full speed, or leave it")
      ->check(CLI::IsMember({"pin", "leave"}))
      ->capture_default_str();
  command.add_option("--power", run.power, "power cap: settings above it are left out");
  command.add_option("--board", run.board, "auto, a board's id (see gearshift boards) or a file")
      ->capture_default_str();
  add_gpu_flag(command, run.gpu);
  command.add_option("--sysroot", run.sysroot, "prefix of the board's files")
      ->capture_default_str();
  command.add_option("--listen", run.listen,
                     "endpoint for the workload (default: as gearshift run)");
  command.add_option("--control", run.control, "endpoint for status and stop (default: as run)");
  command.add_option("--state", run.state,
                     std::string("folder of the knob journal; ") + kStateFolderDefault);
  add_helper_flag(command, run.helper);
  command.add_option("--duration", run.duration, "stop after so long, for example 2h");
  command.add_flag("--json", run.json, "one JSON object a line instead of text");
}

}  // namespace

void add_profile(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* command = app.add_subcommand(
      "profile", "Measure a running workload in every mode of a grid, into a profile");
  add_profile_flags(*command, *options);
  command->footer(
      "Example: 3 x 2 x 2 modes of a virtual board, while an emulated trainer runs\n"
      "  gearshift board --virtual jetson-agx-orin --mount /tmp/orin &\n"
      "  gearshift emulate --workload resnet18 --sysroot /tmp/orin &\n"
      "  gearshift profile --sysroot /tmp/orin --keep cpu_cores=4,8,12 --keep cpu_mhz=1728 \\\n"
      "    --keep gpu_mhz=612,1300.5 --keep mem_mhz=2133,3199 -o resnet18.csv\n"
      "Stop it with Ctrl-C when you like: the same command goes on where it was.");
  command->callback([options, &exit_code] {
    try {
      RunPlan plan;
      try {
        if (!options->run.power.empty())
          plan.power_mw = flag_value("--power", options->run.power, parse_power_mw);
        if (!options->run.duration.empty())
          plan.duration = flag_value("--duration", options->run.duration, parse_duration);
        if (!profile(*options, plan)) exit_code = kExitFailed;
      } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "gearshift profile: %s\n", error.what());
        exit_code = kExitUsage;
      }
    } catch (const BusyError& error) {
      std::fprintf(stderr, "gearshift profile: %s\n", error.what());
      exit_code = kExitBusy;
    } catch (const HelperError& error) {
      std::fprintf(stderr, "gearshift profile: %s\n", error.what());
      exit_code = kExitUnreachable;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gearshift profile: %s\n", error.what());
      exit_code = kExitFailed;
    }
  });
}

}  // namespace gearshift
