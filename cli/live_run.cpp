#include "cli/live_run.h"

#include <malloc.h>
#include <spdlog/fmt/fmt.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "cli/explaining_recorder.h"
#include "cli/heat_notes.h"
#include "cli/outlet.h"
#include "cli/predicted_work.h"
#include "cli/prior_tables.h"
#include "cli/read_script.h"
#include "cli/run_endpoints.h"
#include "cli/select_board.h"
#include "cli/service_notice.h"
#include "cli/state_folder.h"
#include "trace/calling_user.h"
#include "trace/recorded_inputs.h"

namespace gearshift {
namespace {

std::filesystem::path journal_of(const RunOptions& options) {
  return journal_path(state_folder_of(options.state));
}

LiveKnobs open_knobs(const RunOptions& options, const BoardDescription& board, Sysroot& root,
                     const Clock& clock) {
  if (!options.helper.empty()) return {board, root, clock, options.helper};
  return {board, root, clock, journal_of(options)};
}

BoardTraits make_traits(const BoardDescription& description, const OpenedSensors& sensors,
                        const KnobSpace& knobs) {
  BoardTraits traits;
  traits.name = description.id;
  traits.power_window = sensors.power_averaging.window;
  traits.power_averaging = sensors.power_averaging.averaging;
  traits.power_rounding_mw = description.power.rounding_mw;
  traits.power_counts = sensors.power_counts;
  traits.stale_after = description.power.stale_after;
  traits.apply_timeout = description.apply_timeout;
  traits.modes = modes_by_power(description, knobs);
  traits.safe = safe_mode(description, knobs, traits.modes);
  return traits;
}

LiveWorldOptions make_world_options(const RunOptions& options, const OpenedSensors& sensors,
                                    const LiveKnobs& knobs, SignalWatch& signals) {
  LiveWorldOptions world;
  world.signals = &signals;
  world.workload_endpoint = workload_endpoint_of(options);
  world.control_endpoint = control_endpoint_of(options);
  world.keys = keys_of(options);
  if (may_be_edited(options.policy)) world.script = options.policy;
  if (sensors.wake_descriptor >= 0) world.wake_descriptors = {sensors.wake_descriptor};
  world.allowed_user = calling_user().user;
  if (knobs.descriptor() >= 0) world.watched_descriptors = {knobs.descriptor()};
  world.knobs = knobs.knobs();
  return world;
}

std::unique_ptr<LiveWorld> make_world(const Clock& clock, LiveWorldOptions& options,
                                      const Rationale& rationale) {
  options.rationale = &rationale;
  return std::make_unique<LiveWorld>(clock, options);
}

// Those from `first` on, which each begin with "battery: ", in one sentence.
std::string battery_reasons(const std::vector<std::string>& findings, std::size_t first) {
  constexpr std::string_view kSubject = "battery: ";
  std::string text;
  for (std::size_t i = first; i < findings.size(); ++i) {
    const bool named = findings[i].starts_with(kSubject);
    text += (text.empty() ? "" : "; ") + findings[i].substr(named ? kSubject.size() : 0);
  }
  return text;
}

// The board's, and those of its battery where it is to be read.
OpenedSensors open_all_sensors(const BoardDescription& description, const RunPlan& plan,
                               Sysroot& root, const Clock& clock) {
  OpenedSensors opened = open_sensors(description, root, clock);
  if (plan.battery) {
    BatteryDescription battery = *plan.battery;
    battery.awake = monotonic_since_boot;
    battery.stale_after = std::max(battery.stale_after, description.power.stale_after);
    const std::size_t of_board = opened.findings.size();
    if (!open_battery(battery, root, opened)) {
      throw std::runtime_error("--battery auto: " + battery_reasons(opened.findings, of_board));
    }
  }
  if (plan.battery_goal && plan.battery_goal->brownout_v && !opened.battery_voltage) {
    throw std::invalid_argument(
        "--brown-out: nothing here reads the battery's voltage (a power_supply with voltage_now, "
        "an INA219 or its kin, battery.voltage of Network UPS Tools); leave it out, and give a "
        "cap that the battery bears with --power");
  }
  return opened;
}

// Stops the loop when its work is done, and until then shows who watches it that it goes on, tells
// who was refused at the door, and gives back what floods have left in the heap.
class GuardedWorld : public World {
 public:
  GuardedWorld(LiveWorld& world, LiveKnobs& knobs, const std::function<bool()>& done,
               std::string_view text)
      : world_(world), knobs_(knobs), done_(done), text_(text) {}

  Time wait_until(Time deadline, EventBuffer& events) override {
    const Time now = world_.wait_until(deadline, events);
    const std::string trouble = knobs_.beat(now);
    if (!trouble.empty()) out_.tell("gearshift: " + trouble + '\n');
    const std::string complaint = world_.take_complaint();
    if (!complaint.empty()) out_.tell("gearshift: " + complaint + '\n');
    if (now - trimmed_ >= kTrimEvery) {
      trimmed_ = now;
      malloc_trim(0);
    }
    if (done_ && done_()) {
      Event& stop = events.emplace_back();
      stop.type = EventType::stop;
      stop.text = BoundedText<96>(text_);
    }
    return now;
  }
  void command(WorkloadHandle workload, const WorkloadCommand& command) override {
    world_.command(workload, command);
  }
  std::string_view script() override { return world_.script(); }
  void publish(const Status& status) override { world_.publish(status); }

 private:
  // Often enough for what a flood leaves, and seldom enough to cost nothing.
  static constexpr Duration kTrimEvery = std::chrono::minutes(1);

  LiveWorld& world_;
  LiveKnobs& knobs_;
  const std::function<bool()>& done_;
  std::string_view text_;
  Outlet out_{STDERR_FILENO};
  Time trimmed_{};
};

}  // namespace

void prepare_signals() {
  sigset_t ends, waits;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM}) {
    std::signal(signal, SIG_DFL);  // a shell may have started this with SIGINT ignored
    sigaddset(&ends, signal);
  }
  pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
  sigemptyset(&waits);
  sigaddset(&waits, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &waits, nullptr);
  // Nobody has to read what is told, nor has it or a recording to fit into the file, and the cap is
  // kept all the same. The guardian inherits it.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void use_all_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // where not, fewer connections are let in
}

void share_heap() { mallopt(M_ARENA_MAX, 1); }

LiveRun::LiveRun(const RunOptions& options, const RunPlan& plan)
    : options_(with_usable_endpoints(options)),
      plan_(plan),
      root_(existing_sysroot(options.sysroot)),
      description_(select_board(options.board, root_, options.gpu)),
      live_knobs_(open_knobs(options, description_, root_, clock_)),
      sensors_(open_all_sensors(description_, plan, root_, clock_)),
      knobs_(live_knobs_.knobs()),
      traits_(make_traits(description_, sensors_, knobs_)),
      rationale_(plan.goal),
      prediction_(description_, knobs_),
      world_options_(make_world_options(options, sensors_, live_knobs_, signals_)),
      world_(make_world(clock_, world_options_, rationale_)),
      operator_limit_(plan.power_mw),
      schedule_limit_(options.schedule, options.timetable, local_time),
      thermal_limit_(make_thermal_limit(plan.thermal, zone_names(description_),
                                        sensors_.thermal_zones, sensors_.findings)) {
  if (plan.battery_goal) {
    BatteryLimitOptions battery = *plan.battery_goal;
    if (battery.aim == BatteryAim::serve) {
      battery.pause_w = modelled_pause_w(description_, knobs_, *traits_.safe);
    }
    battery_limit_ =
        std::make_unique<BatteryLimit>(battery, predict_by_model(description_, knobs_));
  }
  controller_options_.duration = plan.duration;
  controller_options_.goal = plan.goal;
  complete_goal(controller_options_.goal, knobs_);
  controller_options_.seed = options.seed;
  take_prior(options.prior);
}

void LiveRun::take_prior(const std::vector<std::string>& files) {
  ProfileFiles read;
  prior_ = read_prior_tables(files, read);
  borrowed_prior_ = borrowed(prior_);
  controller_options_.prior = borrowed_prior_;
  for (const std::string& file : files) {
    prior_findings_.push_back(fmt::format("  prior {}: {}", file, names_of(read.of(file))));
  }
  const std::optional<BoardModel> model = board_model(&description_);
  warnings_ = useless_priors(files, read, description_.id, model ? &*model : nullptr, {});
}

// A board whose knobs cannot be written is still measured and advised on.
std::vector<std::string> LiveRun::findings() const {
  std::vector<std::string> lines = {
      fmt::format("board {} ({})", description_.name, description_.id)};
  for (const std::string& finding : sensors_.findings) lines.push_back("  " + finding);
  for (const Knob& knob : knobs_.knobs) {
    const std::string_view unit = unit_name(knob.unit);
    lines.push_back(fmt::format("  knob {}: {} values, {} to {}{}{}", knob.name, knob.values.size(),
                                describe_value(knob.unit, knob.values.front()),
                                describe_value(knob.unit, knob.values.back()),
                                unit.empty() ? "" : " ", unit));
  }
  if (!live_knobs_.helper().empty()) lines.push_back("  " + live_knobs_.helper());
  for (const std::string& complaint : complaints()) lines.push_back("  " + complaint);
  lines.insert(lines.end(), prior_findings_.begin(), prior_findings_.end());
  return lines;
}

std::vector<std::string> LiveRun::complaints() const {
  std::vector<std::string> lines;
  for (const AbsentKnob& knob : live_knobs_.absent()) {
    lines.push_back(fmt::format("knob {}: absent: {}", knob.name, knob.reason));
  }
  lines.insert(lines.end(), live_knobs_.leftover().begin(), live_knobs_.leftover().end());
  if (knobs_.knobs.empty()) {
    lines.emplace_back("no knob can be set here: measuring and advising only");
  }
  return lines;
}

void LiveRun::keep_orders() {
  orders_ = orders_of(options_, description_.id, plan_.power_mw);
  if (orders_ == nullptr) return;
  Goal& goal = controller_options_.goal;
  const Orders left = orders_->take(goal, warnings_);
  if (left.cap_mw) operator_limit_ = OperatorLimit(left.cap_mw);
  if (left.goal == GoalChange()) return;
  goal = changed(goal, left.goal);
  rationale_.set_goal(goal);
}

void LiveRun::record(const std::string& command, const NamedText& policy) {
  RecordingHeader header;
  header.command = command;
  header.board = {description_.source, description_.text};
  header.knobs = knobs_;
  header.traits = traits_;
  header.options = controller_options_;
  header.policy = policy;
  for (const LimitSource* limit : limits()) header.limits.emplace_back(limit->name());
  recording_ = start_recording(
      {std::filesystem::absolute(options_.record), options_.overwrite, options_.keep_recordings},
      header);
  recorded_time_ = std::make_unique<RecordedThinkTime>(think_clock_, *recording_);
}

ThinkTime& LiveRun::think_time() {
  if (recorded_time_) return *recorded_time_;
  return think_clock_;
}

std::vector<LimitSource*> LiveRun::limits() {
  std::vector<LimitSource*> limits = {&operator_limit_, &schedule_limit_};
  if (thermal_limit_) limits.push_back(thermal_limit_.get());
  if (battery_limit_) limits.push_back(battery_limit_.get());
  return limits;
}

Board LiveRun::make_board() {
  if (recording_ == nullptr) {
    return Board(live_knobs_.take(), std::move(sensors_.sensors), traits_);
  }
  return Board(recorded(live_knobs_.take(), *recording_),
               recorded(std::move(sensors_.sensors), *recording_), traits_);
}

std::chrono::milliseconds bar_patience(OnExit on_exit) {
  return on_exit == OnExit::restore ? std::chrono::milliseconds(0) : kStepPatience;
}

LiveRun::Result LiveRun::run(Policy& policy, Recorder& front, const std::function<bool()>& done,
                             std::string_view done_text) {
  Board board = make_board();
  rationale_.know_safe(board.safe());
  rationale_.predict_with([this](const Setting& setting) { return prediction_.predict(setting); });
  rationale_.tell_plan_with([this] { return plans_ ? plans_->text() : std::string(); });
  ExplainingRecorder explaining(rationale_, prediction_, front);
  GuardedWorld guarded(*world_, live_knobs_, done, done_text);
  OrderedWorld ordered(guarded, orders_.get());
  const ServiceNotice notice = ServiceNotice::from_environment();
  NoticedWorld noticed(ordered, notice);
  const auto loop = [&](World& world, Recorder& recorder, std::span<LimitSource* const> limits) {
    Controller controller(world, board, policy, recorder, limits, controller_options_);
    try {
      controller.run();
    } catch (...) {
      restore(board);  // on every way out, whatever --on-exit says
      throw;
    }
    if (options_.helper.empty()) bar_.emplace(journal_of(options_), bar_patience(plan_.on_exit));
    return Result{controller.summary(), controller.ledger()};
  };
  Result result;
  rationale_.tell_recording_with([this] { return tee_ ? tee_->state() : unrecorded_; });
  const std::string& unrecorded = unrecorded_.end;
  if (!unrecorded.empty()) {
    front.note({.type = NoteType::recording_ended, .time = clock_.now(), .text = unrecorded});
  }
  if (recording_ == nullptr) {
    plans_.emplace(explaining, battery_limit_.get(), sensors_.battery);
    HeatNotes heat(*plans_, thermal_limit_.get(), sensors_.thermal);
    result = loop(noticed, heat, limits());
  } else {
    RecordedWorld world(noticed, *recording_);
    std::deque<RecordedLimit> recorded_limits;
    std::vector<LimitSource*> seen;
    for (LimitSource* limit : limits()) {
      const auto source = static_cast<std::uint32_t>(recorded_limits.size());
      seen.push_back(&recorded_limits.emplace_back(*limit, source, *recording_));
    }
    tee_.emplace(explaining, *recording_);
    plans_.emplace(*tee_, battery_limit_.get(), sensors_.battery);
    HeatNotes heat(*plans_, thermal_limit_.get(), sensors_.thermal);
    result = loop(world, heat, seen);
  }
  notice.send("STOPPING=1");
  if (orders_) orders_->forget();
  leave(board);
  // After the board is as it was: the disk, or who has locked the file, may let it wait.
  if (tee_) tee_->finish();
  return result;
}

// Connections take no descriptor from the journal. What this process cannot put back its guardian
// may, when it has ended.
void LiveRun::restore(Board& board) {
  world_.reset();
  try {
    board.restore();
  } catch (...) {
    live_knobs_.leave_to_guardian();
    throw;
  }
  const std::string complaint = live_knobs_.take_complaint();
  if (!complaint.empty()) Outlet(STDERR_FILENO).tell("gearshift: " + complaint + '\n');
}

void LiveRun::leave(Board& board) {
  switch (plan_.on_exit) {
    case OnExit::restore:
      restore(board);
      return;
    case OnExit::safe: {
      const std::string failure = live_knobs_.set_safe(board);
      live_knobs_.keep();
      if (failure.empty()) return;
      throw KnobError("--on-exit safe: the safe mode is not set: " + failure +
                      "; `gearshift restore` puts the knobs back as they were found");
    }
    case OnExit::keep:
      live_knobs_.keep();  // the journal stays: `gearshift restore` can still put the board back
      if (!bar_ || bar_->clear()) return;
      throw KnobError(
          "--on-exit keep: the guardian's step to the safe mode still goes on, in a write that "
          "does not return, and may change a knob of what is kept; `gearshift restore` puts the "
          "knobs back as they were found");
  }
}

}  // namespace gearshift
