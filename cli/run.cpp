// `gearshift run`: the daemon. Composes board, world, policy and limits, and runs the loop.
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "actuators/board_actuator.h"
#include "boards/board_description.h"
#include "bridge/endpoints.h"
#include "bridge/live_world.h"
#include "cli/boottime_clock.h"
#include "cli/commands.h"
#include "cli/json_recorder.h"
#include "cli/read_script.h"
#include "cli/run_options.h"
#include "cli/select_board.h"
#include "cli/state_folder.h"
#include "cli/summary_text.h"
#include "cli/text_recorder.h"
#include "controller/controller.h"
#include "limits/operator_limit.h"
#include "limits/schedule_limit.h"
#include "policies/lua/lua_policy.h"
#include "sensors/open.h"

namespace gearshift {
namespace {

// They arrive through the world's signalfd; no thread exists yet that could take them.
void block_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

// The user whose trainers are believed: with sudo, the one who called it.
std::uint32_t operator_user() {
  const char* caller = geteuid() == 0 ? std::getenv("SUDO_UID") : nullptr;
  std::uint32_t user = geteuid();
  if (caller != nullptr) std::from_chars(caller, caller + std::strlen(caller), user);
  return user;
}

// A board whose knobs cannot be written is still measured and advised on.
void print_findings(const BoardDescription& description, const OpenedSensors& sensors,
                    const BoardActuator& actuator) {
  std::printf("board %s (%s)\n", description.name.c_str(), description.id.c_str());
  for (const std::string& finding : sensors.findings) std::printf("  %s\n", finding.c_str());
  for (const Knob& knob : actuator.knobs().knobs) {
    std::printf("  knob %s: %zu values, %s to %s %s\n", knob.name.c_str(), knob.values.size(),
                describe_value(knob.unit, knob.values.front()).c_str(),
                describe_value(knob.unit, knob.values.back()).c_str(),
                std::string(unit_name(knob.unit)).c_str());
  }
  for (const AbsentKnob& knob : actuator.absent()) {
    std::printf("  knob %s: absent: %s\n", knob.name.c_str(), knob.reason.c_str());
  }
  if (!actuator.writable()) {
    std::printf("  no knob can be set here: measuring and advising only\n");
  }
  std::fflush(stdout);
}

Board make_board(const BoardDescription& description, std::unique_ptr<BoardActuator> actuator,
                 OpenedSensors& sensors) {
  BoardTraits traits;
  traits.name = description.id;
  traits.power_window = description.power.window;
  traits.stale_after = description.power.stale_after;
  traits.apply_timeout = description.apply_timeout;
  traits.modes = modes_by_power(description, actuator->knobs());
  traits.safe = safe_mode(description, actuator->knobs(), traits.modes);
  return Board(std::move(actuator), std::move(sensors.sensors), std::move(traits));
}

void leave(Board& board, OnExit on_exit, const Clock& clock) {
  switch (on_exit) {
    case OnExit::restore:
      board.restore();
      return;
    case OnExit::keep:
      return;  // the journal stays: `gearshift restore` can still put the board back
    case OnExit::safe:
      board.begin(board.safe(), clock.now());
      while (board.advance(clock.now()) == ApplyState::applying) continue;
      return;
  }
}

void print_summary(const RunOptions& options, const SummaryInputs& inputs) {
  if (options.json) {
    std::printf("%s\n", summary_json(inputs).dump().c_str());
  } else {
    std::printf("%s", summary_text(inputs).c_str());
  }
  std::fflush(stdout);
}

void run(const RunOptions& options, const RunPlan& plan) {
  block_signals();
  const BoottimeClock clock;
  Sysroot root(options.sysroot);
  const BoardDescription description = select_board(options.board, root);
  const std::filesystem::path state =
      options.state.empty() ? default_state_folder() : std::filesystem::path(options.state);
  LuaPolicy policy(options.policy, read_script(options.policy));
  policy.check();

  auto actuator = std::make_unique<BoardActuator>(
      description, root, BoardActuatorOptions{.journal = journal_path(state)});
  OpenedSensors sensors = open_sensors(description, root, clock);
  if (!options.json) print_findings(description, sensors, *actuator);

  LiveWorldOptions world_options;
  world_options.workload_endpoint =
      options.listen.empty() ? default_workload_endpoint() : options.listen;
  world_options.control_endpoint =
      options.control.empty() ? default_control_endpoint() : options.control;
  world_options.script = options.policy;
  if (sensors.wake_descriptor >= 0) world_options.wake_descriptors = {sensors.wake_descriptor};
  world_options.allowed_user = operator_user();
  world_options.knobs = actuator->knobs();
  LiveWorld world(clock, world_options);

  OperatorLimit operator_limit(plan.power_mw);
  ScheduleLimit schedule_limit(options.schedule);
  LimitSource* limits[] = {&operator_limit, &schedule_limit};
  ControllerOptions controller_options;
  controller_options.duration = plan.duration;
  controller_options.goal.objective = plan.objective;
  controller_options.seed = options.seed;

  const bool estimate = sensors.power_is_estimate;
  Board board = make_board(description, std::move(actuator), sensors);
  std::unique_ptr<Recorder> recorder;
  if (options.json) {
    recorder = std::make_unique<JsonRecorder>(board.knobs());
  } else {
    std::printf("listening on %s\n", world_options.workload_endpoint.c_str());
    std::fflush(stdout);
    recorder = std::make_unique<TextRecorder>(board.knobs());
  }
  Controller controller(world, board, policy, *recorder, limits, controller_options);
  try {
    controller.run();
  } catch (...) {
    recorder.reset();
    board.restore();  // on every way out, whatever --on-exit says
    throw;
  }
  recorder.reset();
  leave(board, plan.on_exit, clock);
  print_summary(options, {board.knobs(), controller.summary(), controller.ledger(), estimate});
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand(
      "run", "Attach to trainers, search for the best setting within the cap, and hold it");
  add_run_flags(*command, *options);
  command->footer(
      "Example: a virtual board, an emulated trainer and a search under 30 W\n"
      "  gearshift board --virtual jetson-agx-orin --mount /tmp/orin &\n"
      "  gearshift run --sysroot /tmp/orin --policy scripts/binary_search.lua --power 30W &\n"
      "  gearshift emulate --workload resnet18 --sysroot /tmp/orin\n"
      "Lower the cap while it runs with `gearshift cap 20W`; Ctrl-C restores every knob.");
  command->callback([command, options, &exit_code] {
    try {
      RunPlan plan;
      try {
        read_run_config(*command, *options);
        plan = make_run_plan(*options);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "gearshift run: %s\n", error.what());
        exit_code = kExitUsage;
        return;
      }
      run(*options, plan);
    } catch (const PolicyError& error) {
      std::fprintf(stderr, "gearshift run: %s\n", error.what());
      exit_code = kExitPolicy;
    } catch (const BusyError& error) {
      std::fprintf(stderr, "gearshift run: %s\n", error.what());
      exit_code = kExitBusy;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gearshift run: %s\n", error.what());
      exit_code = kExitFailed;
    }
  });
}

}  // namespace gearshift
