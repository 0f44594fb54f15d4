// `gearshift run`: the daemon, which searches for the best setting within the cap and holds it.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command_words.h"
#include "cli/commands.h"
#include "cli/json_recorder.h"
#include "cli/live_run.h"
#include "cli/outlet.h"
#include "cli/output_files.h"
#include "cli/policy_transfer.h"
#include "cli/read_script.h"
#include "cli/recording.h"
#include "cli/run_options.h"
#include "cli/schedule_text.h"
#include "cli/service_notice.h"
#include "cli/summary_text.h"
#include "cli/text_recorder.h"
#include "policies/lua/lua_policy.h"

namespace gearshift {
namespace {

// The board is as it was, so a reader is given a moment.
void tell_at_the_end(Outlet& out, const std::string& summary) {
  constexpr int kPatienceMs = 2000;
  if (!out.await_room(kPatienceMs)) return;
  out.tell("");  // how many lines are missing
  std::printf("%s", summary.c_str());
  std::fflush(stdout);
}

// Who asked for a recording at a terminal is told before the work that there will be none. A
// service would be started over and over, and nothing would guard the cap.
void record(LiveRun& live, const RunOptions& options, const std::string& command,
            const NamedText& script) {
  try {
    live.record(command, script);
  } catch (const std::exception& error) {
    if (!options.as_service) throw;
    const std::string why = complaint_of(options, error.what());
    std::fprintf(stderr, "gearshift run: %s; nothing is recorded, and the run goes on\n",
                 why.c_str());
    live.go_unrecorded(why);
  }
}

void run(const RunOptions& options, const RunPlan& plan, const std::string& command) {
  prepare_signals();
  share_heap();
  use_all_descriptors();
  const NamedText script = read_script(options.policy);
  LuaPolicy(script.name, script.text).check();
  if (!names_shipped_script(options.policy) && !may_be_edited(options.policy)) {
    std::fprintf(stderr,
                 "gearshift run: --policy %s: is no regular file, so it is read once: neither an "
                 "edit nor SIGHUP takes it anew\n",
                 options.policy.c_str());
  }
  const ReferenceTransfer transfer = policy_transfer();
  LiveRun live(options, plan);
  live.keep_orders();
  for (const std::string& warning : live.warnings()) {
    std::fprintf(stderr, "gearshift run: %s\n", warning.c_str());
  }
  // Before the loop begins, which would do nothing else meanwhile, and guard nothing.
  if (script.text.find("predict.transfer") != std::string::npos) transfer.warm_up();
  if (!options.record.empty()) record(live, options, command, script);
  LuaPolicy policy(script.name, script.text, board_model(&live.board()), &transfer,
                   {.think_time = &live.think_time()});

  std::string schedule;
  if (!options.timetable.empty()) {
    schedule = schedule_text(options.timetable, local_time(), local_zone());
  }
  Outlet out(STDOUT_FILENO, options.json ? json_gap : gap_text);
  std::unique_ptr<Recorder> front;
  if (options.json) {
    for (const std::string& complaint : live.complaints()) {
      std::fprintf(stderr, "gearshift run: %s\n", complaint.c_str());
    }
    if (!schedule.empty()) std::fprintf(stderr, "gearshift run: %s\n", schedule.c_str());
    front = std::make_unique<JsonRecorder>(live.knobs(), out);
  } else {
    for (const std::string& finding : live.findings()) std::printf("%s\n", finding.c_str());
    if (!schedule.empty()) std::printf("  %s\n", schedule.c_str());
    const std::string recording = live.recording_file();
    if (!recording.empty()) std::printf("recording into %s\n", recording.c_str());
    std::printf("listening on %s\n", live.workload_endpoint().c_str());
    std::fflush(stdout);
    front = std::make_unique<TextRecorder>(live.knobs(), out, log_place_of(STDOUT_FILENO));
  }
  const auto [summary, ledger] = live.run(policy, *front);
  front.reset();
  const SummaryInputs inputs{live.knobs(), summary, ledger, live.power_is_estimate()};
  const std::string text = options.json ? summary_json(inputs).dump() + "\n" : summary_text(inputs);
  tell_at_the_end(out, text);
}

void check_files(const RunOptions& options) {
  CommandFiles files;
  files.reads_board("--board", options.board);
  files.reads("--config", options.config);
  files.reads("--prior", options.prior);
  if (!names_shipped_script(options.policy)) files.reads("--policy", options.policy);
  files.writes_recording("--record", options.record);
  files.check();
}

void check_zone(const RunOptions& options) {
  const std::string why = options.timetable.empty() ? "" : zone_objection();
  if (!why.empty()) throw std::invalid_argument(why);
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
      "  gearshift run --sysroot /tmp/orin --power 30W &\n"
      "  gearshift emulate --workload resnet18 --sysroot /tmp/orin\n"
      "Lower the cap while it runs with `gearshift cap 20W`; Ctrl-C restores every knob.\n"
      "Trade time for energy with --objective weighted --energy-weight 0.25, and otherwise while "
      "it\n"
      "runs with `gearshift goal --energy-weight 0.75`.\n"
      "On a real board start it with sudo: trainers of the user who called it attach by "
      "themselves.\n"
      "It needs no root where a `gearshift helper` sets the knobs for it: give its socket with "
      "--helper.\n"
      "Add --record run.db to keep all of it for `gearshift replay` and `gearshift export`, or\n"
      "--record recordings/ for a new file in that folder each time.");
  command->callback([command, options, &exit_code] {
    try {
      RunPlan plan;
      try {
        read_run_config(*command, *options);
        options->as_service = ServiceNotice::from_environment().has_listener();
        check_files(*options);
        plan = make_run_plan(*options);
        check_zone(*options);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "gearshift run: %s\n", error.what());
        exit_code = kExitUsage;
        return;
      }
      run(*options, plan, command_words(*command));
    } catch (const PolicyError& error) {
      std::fprintf(stderr, "gearshift run: %s\n", complaint_of(*options, error.what()).c_str());
      exit_code = kExitPolicy;
    } catch (const BusyError& error) {
      std::fprintf(stderr, "gearshift run: %s\n", error.what());
      exit_code = kExitBusy;
    } catch (const HelperError& error) {
      std::fprintf(stderr, "gearshift run: %s\n", error.what());
      exit_code = kExitUnreachable;
    } catch (const std::invalid_argument& error) {
      std::fprintf(stderr, "gearshift run: %s\n", complaint_of(*options, error.what()).c_str());
      exit_code = kExitUsage;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gearshift run: %s\n", error.what());
      exit_code = kExitFailed;
    }
  });
}

}  // namespace gearshift
