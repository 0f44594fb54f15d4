// gearshift simulate: one search on a simulated board, and how far its choice is from the optimum.
#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "boards/board_model.h"
#include "cli/arrival_flags.h"
#include "cli/command_words.h"
#include "cli/commands.h"
#include "cli/explaining_recorder.h"
#include "cli/flag_value.h"
#include "cli/json_recorder.h"
#include "cli/output_files.h"
#include "cli/policy_transfer.h"
#include "cli/predicted_work.h"
#include "cli/prior_tables.h"
#include "cli/read_script.h"
#include "cli/record_flag.h"
#include "cli/recording.h"
#include "cli/seed_flag.h"
#include "cli/simulated_course.h"
#include "cli/simulated_problem.h"
#include "cli/simulated_progress.h"
#include "cli/simulated_result.h"
#include "cli/units.h"
#include "cli/written_output.h"
#include "limits/operator_limit.h"
#include "limits/schedule_limit.h"
#include "policies/lua/lua_policy.h"
#include "simulator/simulation.h"

namespace gearshift {
namespace {

using nlohmann::json;

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

// With what is in it: another file may be refused yet.
File open_log(const std::string& path) {
  if (path.empty()) return nullptr;
  // Opened anew, a file that the shell redirects to would be written from its beginning.
  const int descriptor = is_standard_output(path)
                             ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                             : open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor >= 0) return File(fdopen(descriptor, "w"));
  throw std::runtime_error(fmt::format(
      "--log {}: cannot be written: {}; name a file in a folder that is there, and writable", path,
      std::strerror(errno)));
}

void empty_log(std::FILE* log, const std::string& path) {
  if (is_standard_output(path)) return;
  struct stat found {};
  const int descriptor = fileno(log);
  if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) return;  // a pipe, a terminal
  if (ftruncate(descriptor, 0) == 0) return;
  throw std::runtime_error(
      fmt::format("--log {}: cannot be written: {}", path, std::strerror(errno)));
}

// Throws where not all of it got there.
void close_log(File log, const JsonRecorder& recorder, const std::string& path) {
  int failure = recorder.failure();
  if (std::fclose(log.release()) != 0 && failure == 0) failure = errno;
  if (failure == 0) return;
  throw std::runtime_error(
      fmt::format("--log {}: not all of it could be written: {}", path, std::strerror(failure)));
}

// Null where none is wanted.
std::unique_ptr<RecordingWriter> record(const SimulateOptions& options,
                                        const SimulatedProblem& made, const NamedText& policy,
                                        const std::string& words) {
  if (options.record.empty()) return nullptr;
  RecordingHeader header;
  header.command = words;
  if (made.board) header.board = {made.board->source, made.board->text};
  header.knobs = made.problem.knobs;
  header.traits = simulated_traits(made.problem);
  header.options = simulated_options(made.problem);
  header.policy = policy;
  header.limits = {"operator"};
  if (!made.caps.empty()) header.limits.emplace_back("schedule");
  const bool plans = made.problem.mission && make_battery_options(options.mission.goal);
  if (plans) header.limits.emplace_back("battery");
  return start_recording({options.record, options.overwrite}, header,
                         {.when_full = WhenFull::wait});
}

// Throws where not all of it is in the file.
void finish(RecordingWriter& recording, const std::string& path) {
  recording.finish();
  if (!recording.failed()) return;
  throw std::runtime_error(fmt::format("--record {}: {}", path, recording.failure()));
}

// What the operator says where no fault steps the cap.
class OperatorBetweenSteps final : public ScheduleLimit {
 public:
  using ScheduleLimit::ScheduleLimit;
  std::string_view name() const override { return "operator"; }
};

// In the order of the recording's header. At any time one of them says the cap.
std::vector<std::unique_ptr<LimitSource>> caps_of(const SimulatedProblem& made) {
  std::vector<std::unique_ptr<LimitSource>> limits;
  if (made.caps.empty()) {
    limits.push_back(std::make_unique<OperatorLimit>(made.problem.goal.power_mw));
    return limits;
  }
  std::vector<ScheduleStep> standing = made.caps;
  for (std::size_t i = 0; i < standing.size(); ++i) {
    if (made.stepped[i].power_mw) standing[i].power_mw.reset();
  }
  limits.push_back(std::make_unique<OperatorBetweenSteps>(std::move(standing)));
  limits.push_back(std::make_unique<ScheduleLimit>(made.stepped));
  return limits;
}

std::optional<std::int64_t> cap_at(Time time,
                                   const std::vector<std::unique_ptr<LimitSource>>& caps) {
  for (const auto& cap : caps) {
    if (const auto power_mw = cap->power_mw(time)) return power_mw;
  }
  return std::nullopt;
}

// The battery's own limit, beside the one that the operator or the faults set.
std::unique_ptr<BatteryLimit> battery_limit_of(const SimulateOptions& options,
                                               const SimulatedProblem& made) {
  if (!made.board) return make_battery_limit(options.mission, made.problem, {}, 0);
  const PowerMode safe = *simulated_traits(made.problem).safe;
  return make_battery_limit(options.mission, made.problem,
                            predict_by_model(*made.board, made.problem.knobs),
                            modelled_pause_w(*made.board, made.problem.knobs, safe));
}

// A mission is not cut short of its own end by what a search usually takes. One that serves until
// a time ends then: what becomes of the battery later says nothing of it.
void last_until_the_end(SimulateOptions& options) {
  const std::string& until = options.mission.goal.until;
  if (until.empty()) return;
  const Duration end = flag_value("--until", until, parse_duration);
  const auto plan = make_battery_options(options.mission.goal);
  const bool serves = plan && plan->aim == BatteryAim::serve;
  if (serves || end > parse_duration(options.duration)) options.duration = until;
}

// Before anything is opened: what is refused has destroyed nothing.
void check_files(const SimulateOptions& options) {
  CommandFiles files;
  files.reads("--profile", options.profile);
  files.reads_recording("--trace", options.trace);
  files.reads_board("--board", options.board);
  files.reads("--infer-profile", options.infer_profile);
  files.reads("--prior", options.prior);
  files.reads("--solar", options.mission.solar);
  files.reads_named("--arrivals", options.arrivals, "trace:", ',');
  for (const std::string& fault : options.faults) {
    files.reads_named("--fault", fault, "workload:", '@');
  }
  if (!names_shipped_script(options.policy)) files.reads("--policy", options.policy);
  files.writes_no_stream("--log", options.log);
  files.writes_recording("--record", options.record);
  files.check();
  if (!options.record.empty()) check_record_flag({options.record, options.overwrite});
}

void warn_of_priors(const SimulateOptions& options, const SimulationProblem& problem,
                    const BoardModel* model) {
  std::vector<Kind> kinds;
  std::vector<Searched> searched;
  for (const SimulatedTask& task : problem.tasks) {
    kinds.push_back(task.kind);
    searched.push_back({task.name, task.kind});
  }
  std::vector<std::string> warnings =
      useless_priors(options.prior, *options.files, problem.board, model, kinds);
  const std::vector<std::string> misspelt =
      misspelt_priors(options.prior, *options.files, searched);
  warnings.insert(warnings.end(), misspelt.begin(), misspelt.end());
  for (const std::string& warning : warnings) {
    std::fprintf(stderr, "gearshift simulate: %s\n", warning.c_str());
  }
}

void run(const SimulateOptions& options, const std::string& words) {
  check_files(options);
  SimulatedProblem made = make_simulated_problem(options);
  const std::optional<BoardModel> model =
      made.board ? board_model(made.board.get()) : built_in_board_model(made.problem.board);
  warn_of_priors(options, made.problem, model ? &*model : nullptr);
  const NamedText script = read_script(options.policy);
  const ReferenceTransfer transfer = policy_transfer();
  LuaPolicy policy(script.name, script.text, model, &transfer);
  policy.check();
  const std::vector<std::unique_ptr<LimitSource>> caps = caps_of(made);
  const std::unique_ptr<BatteryLimit> battery = battery_limit_of(options, made);
  std::vector<LimitSource*> limits;
  for (const auto& cap : caps) limits.push_back(cap.get());
  if (battery) limits.push_back(battery.get());
  File log = open_log(options.log);
  std::optional<JsonRecorder> recorder;
  if (log) recorder.emplace(made.problem.knobs, log.get());
  const std::unique_ptr<RecordingWriter> recording = record(options, made, script, words);
  if (log) empty_log(log.get(), options.log);
  Onlookers onlookers{.recorder = recorder ? &*recorder : nullptr, .recording = recording.get()};
  std::optional<TeeRecorder> tee;
  if (recording && recorder) tee.emplace(*recorder, *recording);
  if (recording) onlookers.recorder = tee ? static_cast<Recorder*>(&*tee) : recording.get();
  std::optional<PlanNotes> plans;
  if (onlookers.recorder != nullptr) {
    onlookers.recorder = &plans.emplace(*onlookers.recorder, battery.get());
  }
  std::optional<SimulatedCourse> course;
  const bool beside_requests = made.problem.tasks.size() == 2 && !options.arrivals.empty();
  if (beside_requests) {
    course.emplace(made.problem, made.caps);
  }
  SimulatedProgress progress(made.problem);
  onlookers.observer = [&](const Plant& plant, const Status& status) {
    if (course) course->observe(plant, status);
    progress.observe(status.time);
  };
  const SimulationResult result = simulate(made.problem, policy, limits, onlookers);
  progress.end();
  // The choice answers to the cap that was in force when it was made.
  made.problem.goal.power_mw = cap_at(Time{} + result.duration, caps);
  // So it does to what settings cost by then.
  for (SimulatedTask& task : made.problem.tasks) {
    task.costs = &task.costs_at(Time{} + result.duration);
    task.changes.clear();
  }
  if (options.json) {
    json out = result_json(made.problem, result);
    if (result.mission) {
      out["mission"] = mission_json(options.mission, made.problem, result, battery.get());
    }
    if (course) out["phases"] = course->to_json();
    std::printf("%s\n", out.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
  } else {
    print_result(made.problem, result);
    if (course) fmt::print("{}", course->text());
    if (result.mission) {
      fmt::print("{}", mission_text(options.mission, made.problem, result, battery.get()));
    }
  }
  // What came of the run is told whether or not it could be kept.
  if (log) close_log(std::move(log), *recorder, options.log);
  if (recording) finish(*recording, options.record);
}

constexpr const char* kFooter =
    "Example: ResNet-18 on the model of an AGX Orin under 30 W, without and with noise\n"
    "  gearshift simulate --board jetson-agx-orin --workload resnet18 --batch-sizes 8,16,32,64 "
    "\\\n"
    "    --policy binary_search --power 30W\n"
    "  ... --effects all --seed 7\n"
    "Example: training beside requests for five minutes, a burst and a cap that falls\n"
    "  gearshift simulate --problem concurrent --board jetson-agx-orin --workload resnet18 \\\n"
    "    --infer-workload mobilenet_v3 --arrivals poisson:60,x3@120s+30s --latency 500ms \\\n"
    "    --power 30W --fault cap_steps:20W@180s --effects lag,noise,quantised --hold 5m "
    "--duration 5m\n"
    "Example: a sensor that repeats itself for 10 s, a board that throttles, a cap that falls\n"
    "  ... --fault reading_stuck@5s..15s --fault board_throttles:gpu_mhz=612@8s "
    "--fault cap_steps:20W@30s\n"
    "Faults: reading_missing, reading_stuck, reading_absurd, knob_refuses:KNOB, knob_lies:KNOB,\n"
    "board_throttles:KNOB=VALUE, trainer_stalls, trainer_vanishes, helper_vanishes (nobody sets\n"
    "the knobs, and all are at their highest, until another one comes), cap_steps:POWER,\n"
    "throttle:FACTOR (CPU and GPU run so much slower than set) and workload:PROFILE (what that\n"
    "profile, or with --board the model's workload, says is run under the same name). Without "
    "END\n"
    "one lasts to the end of the run, without BEGIN it is there from the start. The result is "
    "judged\n"
    "by the cap at the end.\n"
    "Costs in the result are true ones; what the policy measured is in --json and --log.";

void add_problem_flags(CLI::App& command, SimulateOptions& options) {
  command.add_option("--profile", options.profile, "measured table that says what settings cost");
  command.add_option("--trace", options.trace,
                     "recording whose measurements say it (see gearshift run --record)");
  command.add_option("--board", options.board,
                     "board whose model says it, a built-in id or a board file");
  command.add_option("--workload", options.workload, "which of the profile's or model's");
  command.add_option(
      "--infer-profile", options.infer_profile,
      "of concurrent: measured table of the inference (default: the --profile's own)");
  command.add_option("--infer-workload", options.infer_workload,
                     "of concurrent: which inference of the profile's or model's");
  command
      .add_option("--problem", options.kind,
                  "train, infer, or concurrent: the most training beside inference, with --rate or "
                  "--arrivals")
      ->check(CLI::IsMember({"train", "infer", "concurrent"}))
      ->capture_default_str();
  command.add_option("--power", options.power, "power cap, for example 30W");
  add_goal_flags(command, options.goal, "latency with --rate, else time");
  command.add_option("--arrivals", options.arrivals,
                     std::string("requests that come one by one: ") + kArrivalForms);
  command.add_option("--sensor-interval", options.sensor_interval,
                     "the power sensor has a new reading so often, for example 430ms, and a cap "
                     "is judged by it (default: at every look, judged over 430 ms)");
  command.add_option("--hold", options.hold, "how long the choice is held before the end")
      ->capture_default_str();
  command.add_option("--keep", options.keep,
                     "KNOB=A,B,C: only these values of the knob; given again, those that all have");
  command
      .add_option("--batch-sizes", options.batch_sizes,
                  "allowed ones, of concurrent the inference's (default: the profile's; by a model "
                  "16, or 1 to 64 for infer)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command
      .add_option("--batch-size", options.batch_size,
                  "at the beginning (default: 16 where allowed, else the least)")
      ->check(CLI::Range(1, 1 << 20));
  add_mission_flags(command, options.mission);
}

}  // namespace

void add_simulate(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<SimulateOptions>();
  CLI::App* command = app.add_subcommand(
      "simulate", "Run one search in virtual time and compare its choice with the optimum");
  add_problem_flags(*command, *options);
  command
      ->add_option("--policy", options->policy,
                   "what chooses: the name of a shipped Lua script or the path of one")
      ->capture_default_str();
  command->add_option(
      "--prior", options->prior,
      "profile of other workloads, or of this one on another day, that the script may "
      "read (may be given again)");
  command
      ->add_option("--effects", options->effects,
                   "none, all, or some of "
                   "jitter,first,lag,slow-lag,noise,quantised,unapplied,hotplug,stalls")
      ->capture_default_str();
  command->add_option(
      "--fault", options->faults,
      "FAULT@BEGIN..END: what goes wrong, and when; see below (may be given again)");
  command
      ->add_option("--missing", options->missing,
                   "a setting without a cell: refuse it, or take the nearest or the model")
      ->check(CLI::IsMember({"refuse", "nearest", "model"}))
      ->capture_default_str();
  command->add_option("--model", options->model,
                      "workload of the --board's model that fills gaps (default: of that name)");
  command->add_option("--probes", options->probes, "most measurements of the search")
      ->check(CLI::Range(1U, 100'000U))
      ->capture_default_str();
  add_seed_flag(*command, options->seed, "of noise, faults and the policy");
  command
      ->add_option("--duration", options->duration,
                   "most virtual time; where it is left out, never less than --until, and no more "
                   "where a battery serves until then")
      ->capture_default_str();
  command->add_option("--log", options->log, "file for each decision, one JSON object a line");
  CLI::Option* const record =
      command->add_option("--record", options->record,
                          "record the run into this file, for gearshift replay and export");
  command->add_flag("--overwrite", options->overwrite, "replace a recording that is there already")
      ->needs(record);
  command->add_flag("--json", options->json, "print the result as one JSON object");
  command->footer(kFooter);
  command->callback([command, options, &exit_code] {
    try {
      if (command->count("--duration") == 0) last_until_the_end(*options);
      run(*options, command_words(*command));
    } catch (const PolicyError& error) {
      std::fprintf(stderr, "gearshift simulate: %s\n", error.what());
      exit_code = kExitPolicy;
    } catch (const std::invalid_argument& error) {
      std::fprintf(stderr, "gearshift simulate: %s\n", error.what());
      exit_code = kExitUsage;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gearshift simulate: %s\n", error.what());
      exit_code = kExitFailed;
    }
  });
}

}  // namespace gearshift
