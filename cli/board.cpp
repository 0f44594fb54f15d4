// gearshift board: a virtual board that everything runs against as it runs against a real one.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "cli/boottime_clock.h"
#include "cli/commands.h"
#include "cli/flag_value.h"
#include "cli/seed_flag.h"
#include "cli/select_workload.h"
#include "cli/units.h"
#include "controller/quoted_word.h"
#include "simulator/board_identity.h"
#include "simulator/board_state.h"
#include "simulator/optimum.h"
#include "simulator/virtual_board/fuse_mount.h"
#include "simulator/virtual_board/mount_point.h"
#include "simulator/virtual_board/plain_folder.h"

namespace gearshift {
namespace {

struct VirtualBoardOptions {
  std::string board;
  std::string mount;
  bool plain = false;
  std::uint64_t seed = 1;
  std::string noise = "2%";
  std::string lag = "boxcar";
  std::string battery;  // its capacity; empty: the board hangs on the mains
  std::string charge = "100%";
  double resistance_ohm = 0.1;
  std::vector<std::string> faults;
  std::string optimum;  // a cap: print what is best under it
  std::string workload = "resnet18";
  std::string kind = "train";
  std::vector<std::int32_t> batch_sizes = {8, 16, 32, 64};
  std::string objective = "time";
  bool json = false;
};

const BoardDescription& require_board(const std::string& id) {
  std::string known;
  for (const BoardDescription& board : built_in_boards()) {
    if (board.id == id) return board;
    if (can_be_virtual(board)) known += (known.empty() ? "" : ", ") + board.id;
  }
  throw std::invalid_argument("--virtual " + id +
                              ": there is no such board; those that can be virtual "
                              "are " +
                              known);
}

// "2%". Of a bare number nobody can tell whether it is percent or a share.
double parse_noise(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const bool bare = std::from_chars(text.data(), end, number, std::chars_format::fixed).ptr == end;
  if (bare && !text.empty() && std::isfinite(number)) {
    throw std::invalid_argument(fmt::format("'{}': give {:.6g}% or {:.6g}%, whichever is meant",
                                            text, number, 100 * number));
  }
  return parse_percent(text) / 100;
}

void set_fault(BoardState& board, const std::string& fault) {
  const std::string folder = "/.virtual/faults/";
  const std::size_t equals = fault.find('=');
  const std::string name = fault.substr(0, equals);
  std::string known;
  const std::vector<std::string> entries = board.list(folder).value();
  for (const std::string& entry : entries) {
    if (entry != "README") known += (known.empty() ? "" : ", ") + entry;
  }
  if (equals == std::string::npos ||
      (", " + known + ",").find(", " + name + ",") == std::string::npos) {
    throw std::invalid_argument("--fault " + fault + ": give NAME=VALUE with a name of " + known);
  }
  if (board.write(folder + name, fault.substr(equals + 1)) != 0) {
    throw std::invalid_argument("--fault " + fault + ": this fault takes no such value\n\n" +
                                board.read(folder + "README").text);
  }
}

void print_welcome(const BoardDescription& board, const std::string& folder) {
  const char* where = folder.c_str();
  const std::string word = quoted_word(folder);
  const char* root = word.c_str();
  std::printf("a virtual %s at %s; Ctrl-C takes it away\n", board.name.c_str(), where);
  std::printf("  try   gearshift boards --sysroot %s --explain\n", root);
  std::printf("        gearshift emulate --workload resnet18 --sysroot %s\n", root);
  std::printf("        gearshift run --sysroot %s --policy binary_search --power 30W\n", root);
  std::printf("        cat %s/.virtual/faults/README\n", root);
  // Scripts wait for this line.
  std::printf("ready %s\n", where);
  std::fflush(stdout);
}

// Null where FUSE cannot be used: the reason was printed then.
std::unique_ptr<FuseMount> try_fuse(BoardState& board, const Clock& clock,
                                    const std::string& folder) {
  std::string obstacle = fuse_obstacle();
  try {
    if (obstacle.empty()) return std::make_unique<FuseMount>(board, clock, folder);
  } catch (const std::runtime_error& error) {
    obstacle = error.what();
  }
  std::fprintf(stderr,
               "gearshift board: %s\ngearshift board: serving plain files instead: they follow "
               "within 50 ms, and a file whose read fails on a board is empty here\n",
               obstacle.c_str());
  return nullptr;
}

std::optional<SupplySpec> supply_of(const VirtualBoardOptions& options) {
  if (options.battery.empty()) return std::nullopt;
  SupplySpec supply;
  supply.battery.capacity_wh = flag_value("--battery", options.battery, parse_energy_wh);
  supply.battery.charge = flag_value("--charge", options.charge, parse_percent) / 100;
  supply.battery.resistance_ohm = options.resistance_ohm;
  supply.battery.check();
  return supply;
}

int mount_board(const VirtualBoardOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);  // whoever reads the welcome may go
  const BoardDescription& description = require_board(options.board);
  BoardState board(description,
                   {.seed = options.seed,
                    .noise = flag_value("--noise", options.noise, parse_noise),
                    .lag = options.lag == "boxcar" ? LagShape::boxcar : LagShape::first_order,
                    .supply = supply_of(options)});
  const BoottimeClock clock;
  board.advance(clock.now());
  for (const std::string& fault : options.faults) set_fault(board, fault);
  prepare_mount_point(options.mount);
  if (!options.plain) {
    if (const auto mount = try_fuse(board, clock, options.mount)) {
      print_welcome(description, options.mount);
      mount->serve();
      return kExitOk;
    }
  }
  PlainFolder folder(board, clock, options.mount);
  print_welcome(description, options.mount);
  folder.serve();
  return kExitOk;
}

int print_optimum(const VirtualBoardOptions& options) {
  const BoardDescription& board = require_board(options.board);
  const std::int64_t cap_mw = flag_value("--optimum", options.optimum, parse_power_mw);
  const Kind kind = options.kind == "train" ? Kind::train : Kind::infer;
  const WorkloadParameters& workload =
      require_workload(board, options.workload, kind, "--workload").second;
  const Objective objective = options.objective == "time" ? Objective::time : Objective::energy;
  ModelledOptimum table(board, workload, options.batch_sizes);
  while (!table.advance()) continue;
  const std::optional<Optimum> best = table.best(objective, static_cast<double>(cap_mw) / 1000);
  if (!best) {
    throw std::invalid_argument("--optimum " + options.optimum + ": every mode of " + board.id +
                                " draws more than that with " + options.workload);
  }
  const KnobSpace space = board.knob_space();
  if (options.json) {
    nlohmann::json line = {{"batch_size", best->batch_size},
                           {"power_w", best->power_w},
                           {"minibatch_ms", best->minibatch_ms},
                           {"sample_ms", best->sample_ms()},
                           {"sample_mj", best->sample_mj()}};
    for (std::size_t knob = 0; knob < space.size(); ++knob) {
      line[space.knobs[knob].name] =
          static_cast<double>(best->mode.values[knob]) / unit_scale(space.knobs[knob].unit);
    }
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::printf("%s batch_size=%d: %.1f W, %.2f ms a minibatch, %.3f ms and %.1f mJ a sample\n",
                space.describe(best->mode).c_str(), best->batch_size, best->power_w,
                best->minibatch_ms, best->sample_ms(), best->sample_mj());
  }
  return kExitOk;
}

int run_board(const VirtualBoardOptions& options) {
  if (!options.optimum.empty()) return print_optimum(options);
  if (options.mount.empty()) {
    throw std::invalid_argument(
        "give --mount DIR to mount the board, or --optimum 30W to ask its model");
  }
  return mount_board(options);
}

// Returns --optimum, beside which nothing is mounted.
CLI::Option* add_optimum_flags(CLI::App& command, VirtualBoardOptions& options) {
  CLI::Option* const optimum = command.add_option(
      "--optimum", options.optimum,
      "mount nothing: print the best setting under this power by the board's model, for "
      "example 30W");
  command.add_option("--workload", options.workload, "whose optimum")
      ->needs(optimum)
      ->capture_default_str();
  command.add_option("--kind", options.kind, "train or infer")
      ->needs(optimum)
      ->check(CLI::IsMember({"train", "infer"}))
      ->capture_default_str();
  command.add_option("--batch-sizes", options.batch_sizes, "what to choose from")
      ->needs(optimum)
      ->delimiter(',')
      ->check(CLI::Range(1, kMaxBatchSize))
      ->capture_default_str();
  command.add_option("--objective", options.objective, "least time or energy a sample")
      ->needs(optimum)
      ->check(CLI::IsMember({"time", "energy"}))
      ->capture_default_str();
  command.add_flag("--json", options.json, "print the optimum as one line of JSON")->needs(optimum);
  return optimum;
}

// Of a board that is mounted.
void add_mount_flags(CLI::App& command, VirtualBoardOptions& options) {
  command.add_option("--mount", options.mount, "an empty folder, or one to be made");
  command.add_flag("--plain", options.plain, "serve plain files instead of a file system");
  add_seed_flag(command, options.seed, "of the noise and of what a boot decides by chance");
  command.add_option("--noise", options.noise, "standard deviation of a power reading")
      ->capture_default_str();
  command
      .add_option("--lag", options.lag,
                  "of the power sensor: boxcar, a mean of 0.43 s, or first-order, of 0.7 s")
      ->check(CLI::IsMember({"boxcar", "first-order"}))
      ->capture_default_str();
  CLI::Option* const battery =
      command.add_option("--battery", options.battery,
                         "the board runs on a battery of this capacity, for example 10Wh, which a "
                         "power_supply and an INA219 show");
  command.add_option("--charge", options.charge, "of the battery at the beginning")
      ->needs(battery)
      ->capture_default_str();
  command.add_option("--resistance", options.resistance_ohm, "of the battery, ohm")
      ->needs(battery)
      ->capture_default_str();
  command.add_option(
      "--fault", options.faults,
      "NAME=VALUE: begin with a fault switched on, for example sensor_stuck=1 (may be given "
      "again); a mounted board explains them in .virtual/faults/README");
}

}  // namespace

void add_board(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<VirtualBoardOptions>();
  CLI::App* command =
      app.add_subcommand("board", "Mount a virtual board, with the files of a real one");
  command
      ->add_option("--virtual", options->board,
                   "which board: jetson-agx-orin or jetson-agx-orin-jetpack5")
      ->required();
  add_mount_flags(*command, *options);
  CLI::Option* const optimum = add_optimum_flags(*command, *options);
  for (const char* flag : {"--mount", "--plain", "--seed", "--noise", "--lag", "--battery",
                           "--charge", "--resistance", "--fault"}) {
    optimum->excludes(command->get_option(flag));
  }
  command->footer(
      "Prints 'ready DIR' once the folder can be used, and unmounts it when it is stopped.\n"
      "Example: gearshift board --virtual jetson-agx-orin --mount /tmp/orin\n"
      "Example: the best that its model knows for a workload under 30 W, and nothing mounted\n"
      "  gearshift board --virtual jetson-agx-orin --optimum 30W --workload resnet18");
  command->callback([options, &exit_code] { exit_code = run_board(*options); });
}

}  // namespace gearshift
