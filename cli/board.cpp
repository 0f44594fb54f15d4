// gearshift board: a virtual board that the controller runs against as against a real one.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "cli/boottime_clock.h"
#include "cli/commands.h"
#include "simulator/board_state.h"
#include "simulator/virtual_board/fuse_mount.h"
#include "simulator/virtual_board/mount_point.h"

namespace gearshift {
namespace {

struct BoardOptions {
  std::string board = "jetson-agx-orin";
  std::string mount;
  std::uint64_t seed = 1;
  double noise_percent = 2;
  std::string lag = "boxcar";
  std::vector<std::string> faults;
};

const BoardDescription& find_board(const std::string& id) {
  std::string known;
  for (const BoardDescription& board : built_in_boards()) {
    if (board.id == id) return board;
    if (board.model) known += (known.empty() ? "" : ", ") + board.id;
  }
  throw std::runtime_error("no board is called " + id + "; those with a model are " + known);
}

int run_board(const BoardOptions& options) {
  const BoardDescription& description = find_board(options.board);
  BoardState board(description, {.seed = options.seed, .noise = options.noise_percent / 100});
  const BoottimeClock clock;
  board.advance(clock.now());
  prepare_mount_point(options.mount);
  FuseMount mount(board, clock, options.mount);
  std::printf("ready %s\n", options.mount.c_str());
  std::fflush(stdout);
  mount.serve();
  return kExitOk;
}

}  // namespace

void add_board(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<BoardOptions>();
  CLI::App* command = app.add_subcommand("board", "Mount a virtual board.");
  command->add_option("--virtual", options->board, "Which board");
  command->add_option("--mount", options->mount, "Folder to mount it at");
  command->add_option("--seed", options->seed, "Seed");
  command->add_option("--noise", options->noise_percent, "Noise");
  command->callback([options, &exit_code] { exit_code = run_board(*options); });
}

}  // namespace gearshift
