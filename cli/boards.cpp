// gearshift boards: which boards there are, which one this machine is, and what it offers.
#include <cstdio>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/boards_report.h"
#include "cli/commands.h"
#include "cli/run_options.h"
#include "cli/select_board.h"

namespace gearshift {
namespace {

struct BoardsOptions {
  std::string board = "auto";
  std::string gpu;
  std::string sysroot = "/";
  bool explain = false;
  bool json = false;
};

void print_json(const BoardsOptions& options, Sysroot& root) {
  nlohmann::ordered_json out;
  out["boards"] = nlohmann::ordered_json::array();
  for (const BoardDescription& board : built_in_boards())
    out["boards"].push_back(board_json(board));
  if (options.explain) {
    out["machine"] = machine_json(examine_machine(options.board, options.gpu, root));
  } else {
    const Detection detected = detect_board(root, built_in_boards());
    out["detected"] = detected.board->id;
    out["gpus"] = gpus_json(detected.gpus);
  }
  // Device texts may hold any bytes; those that are no UTF-8 are replaced, not fatal.
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  std::printf("%s\n", out.dump(-1, ' ', false, kReplace).c_str());
}

void boards(BoardsOptions options) {
  options.explain = options.explain || options.board != "auto" || !options.gpu.empty();
  Sysroot root(existing_sysroot(options.sysroot));
  if (options.json) {
    print_json(options, root);
  } else if (options.explain) {
    std::printf("%s", machine_text(examine_machine(options.board, options.gpu, root)).c_str());
  } else {
    const Detection detected = detect_board(root, built_in_boards());
    std::printf("%s", boards_text(built_in_boards(), detected).c_str());
  }
}

}  // namespace

void add_boards(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<BoardsOptions>();
  CLI::App* command =
      app.add_subcommand("boards", "List the boards, and say what this machine is and offers");
  command->add_flag("--explain", options->explain,
                    "say step by step what was detected, what each knob and sensor is here, why "
                    "one is absent, and how to add a board");
  command
      ->add_option("--board,--board-file", options->board,
                   "explain this board: auto, a board's id or a board file")
      ->capture_default_str();
  add_gpu_flag(*command, options->gpu);
  command
      ->add_option("--sysroot", options->sysroot,
                   "prefix of the board's files: / or where a virtual board is mounted")
      ->capture_default_str();
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->footer(
      "It reads only, so it may run beside a daemon; without root it says which knobs that user\n"
      "may not write.\n"
      "Example: what would gearshift do here, and why is a knob missing?\n"
      "  gearshift boards --explain\n"
      "Example: try a board file before it is used\n"
      "  gearshift boards --explain --board my-board.toml");
  command->callback([options, &exit_code] {
    try {
      boards(*options);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gearshift boards: %s\n", error.what());
      exit_code = kExitUsage;
    }
  });
}

}  // namespace gearshift
