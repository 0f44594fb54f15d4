// The commands of the gearshift program: one file a command, each adds itself to the application.
#pragma once

#include <CLI/CLI.hpp>

namespace gearshift {

// Exit codes, the same for every command; documented in docs/exit-codes.md.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,       // the board, a file or the run failed; the message says which
  kExitUsage = 2,        // the command line or a config file cannot be used
  kExitBusy = 3,         // another daemon holds this board
  kExitUnreachable = 4,  // no daemon answers at the endpoint, or no helper at its socket
  kExitPolicy = 5,       // the policy script cannot be used
};

// Each adds a subcommand whose callback leaves its exit code in `exit_code`.
void add_run(CLI::App& app, int& exit_code);
void add_simulate(CLI::App& app, int& exit_code);
void add_requests(CLI::App& app, int& exit_code);
void add_evaluate(CLI::App& app, int& exit_code);
void add_emulate(CLI::App& app, int& exit_code);
void add_board(CLI::App& app, int& exit_code);
void add_boards(CLI::App& app, int& exit_code);
void add_cap(CLI::App& app, int& exit_code);
void add_goal(CLI::App& app, int& exit_code);
void add_status(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_stop(CLI::App& app, int& exit_code);
void add_keys(CLI::App& app, int& exit_code);
void add_restore(CLI::App& app, int& exit_code);
void add_helper(CLI::App& app, int& exit_code);
void add_model(CLI::App& app, int& exit_code);
void add_replay(CLI::App& app, int& exit_code);
void add_powertrain(CLI::App& app, int& exit_code);
void add_pareto(CLI::App& app, int& exit_code);
void add_export(CLI::App& app, int& exit_code);
void add_profile(CLI::App& app, int& exit_code);
void add_import_tegrastats(CLI::App& app, int& exit_code);

}  // namespace gearshift
