// A live run, composed: a board of this machine, the world of trainers, the limits, the recording,
// and the loop on top of them.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actuators/step_bar.h"
#include "boards/board_description.h"
#include "bridge/live_world.h"
#include "bridge/signal_watch.h"
#include "cli/boottime_clock.h"
#include "cli/explaining_recorder.h"
#include "cli/kept_orders.h"
#include "cli/live_knobs.h"
#include "cli/recording.h"
#include "cli/run_options.h"
#include "cli/setting_prediction.h"
#include "cli/think_clock.h"
#include "controller/controller.h"
#include "controller/rationale.h"
#include "limits/battery_limit.h"
#include "limits/operator_limit.h"
#include "limits/schedule_limit.h"
#include "limits/thermal_limit.h"
#include "sensors/open.h"
#include "trace/recorded_inputs.h"
#include "trace/recording_writer.h"

namespace gearshift {

// Until a LiveRun has its SignalWatch, SIGINT and SIGTERM end the process at once: a board whose
// files hang may keep it from ever getting there, and what it has begun to put back by then has its
// journal and its guardian. SIGHUP waits. SIGPIPE is ignored: whoever reads the log may go. Called
// first, while no thread exists yet.
void prepare_signals();
// As many descriptors as this user may have: each connection takes one. Called as early.
void use_all_descriptors();
// One heap for all threads: with one each, what a client that floods leaves in them is not used
// again, and stays. Called as early.
void share_heap();

// How long the end of a run waits for a guardian's step before it leaves the knobs so: what puts
// them back waits for one itself, and twice would be twice as long.
std::chrono::milliseconds bar_patience(OnExit on_exit);

class LiveRun {
 public:
  // Starts the guardian process, so before any thread exists; opens the board and its sensors and
  // binds the endpoints; no knob is written yet, and what was is put back where run() never began.
  // Throws BusyError, HelperError, std::runtime_error that names what cannot be opened, and
  // std::invalid_argument for a goal that lacks a number on this board.
  LiveRun(const RunOptions& options, const RunPlan& plan);

  const BoardDescription& board() const { return description_; }
  const KnobSpace& knobs() const { return knobs_; }
  const BoardTraits& traits() const { return traits_; }
  const std::string& workload_endpoint() const { return world_options_.workload_endpoint; }
  bool power_is_estimate() const { return sensors_.power_is_estimate; }
  // Turns the fan to full speed until the knobs are put back. Before run().
  FanPin pin_fan() { return live_knobs_.pin_fan(); }
  // What was found of the board, one line each, for people.
  std::vector<std::string> findings() const;
  // Those of them that tell why a knob cannot be set, or what an earlier run left set and what
  // became of it: for who reads no others.
  std::vector<std::string> complaints() const;
  // What was asked for and is of no use here, one line each.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // What the loop will run with; the caller may change it before run().
  ControllerOptions& controller_options() { return controller_options_; }

  // Keeps what an operator orders of run() in the state folder, for the next run where this one is
  // killed, and goes on with what a killed one has left there. Before record(), and before the
  // warnings are told, to which it adds.
  void keep_orders();

  // Records what run() does into options.record. `policy` is the script that it will run with, by
  // its file's name. Throws as start_recording does where the file cannot be made.
  void record(const std::string& command, const NamedText& policy);
  // Tells the operator of run() that nothing is recorded of it, and why.
  void go_unrecorded(const std::string& why) {
    unrecorded_ = {std::filesystem::absolute(options_.record), 0, why, unix_time_ms()};
  }
  // Where it is recorded into; empty where it is not.
  std::string recording_file() const { return recording_ ? recording_->file().string() : ""; }

  // How long a script may think; recorded where the run is, so after record().
  ThinkTime& think_time();

  struct Result {
    Summary summary;
    Ledger ledger;
  };
  // Runs the loop until it is stopped, and leaves the knobs as plan.on_exit says; an exception
  // leaves them as they were found. `front` tells the operator. The loop is also stopped once
  // `done`, which is asked every tick, says so; with the words `done_text`.
  Result run(Policy& policy, Recorder& front, const std::function<bool()>& done = {},
             std::string_view done_text = "done");

 private:
  // In the order in which they are asked; pointers into this object.
  std::vector<LimitSource*> limits();
  void take_prior(const std::vector<std::string>& files);
  Board make_board();
  void leave(Board& board);
  void restore(Board& board);

  RunOptions options_;
  RunPlan plan_;
  BoottimeClock clock_;
  Sysroot root_;
  BoardDescription description_;
  // Nothing beats once the loop has ended, and its guardian must not take that for a stall: up from
  // then on until it is told goodbye, whatever a sensor or a reader of our output makes wait.
  std::optional<StepBar> bar_;
  LiveKnobs live_knobs_;  // before the first thread
  SignalWatch signals_;   // until the sensors' threads have ended, which may hang
  OpenedSensors sensors_;
  KnobSpace knobs_;
  BoardTraits traits_;
  Rationale rationale_;  // before the world, which answers from it
  SettingPrediction prediction_;
  LiveWorldOptions world_options_;
  std::unique_ptr<LiveWorld> world_;
  OperatorLimit operator_limit_;
  ScheduleLimit schedule_limit_;
  std::unique_ptr<ThermalLimit> thermal_limit_;  // null where no zone is guarded
  std::unique_ptr<BatteryLimit> battery_limit_;  // null where nothing plans a battery
  std::optional<PlanNotes> plans_;               // from run() on
  std::vector<std::unique_ptr<Profile>> prior_;
  std::vector<const Profile*> borrowed_prior_;
  std::vector<std::string> prior_findings_, warnings_;
  ControllerOptions controller_options_;
  std::unique_ptr<KeptOrders> orders_;  // null where none are kept
  ThinkClock think_clock_;
  std::unique_ptr<RecordingWriter> recording_;
  std::unique_ptr<RecordedThinkTime> recorded_time_;  // null where nothing is recorded
  std::optional<TeeRecorder> tee_;                    // from run() on, where something is
  RecordingState unrecorded_;                         // why nothing is
};

}  // namespace gearshift
