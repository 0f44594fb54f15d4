// gearshift simulate: one search on a simulated board, and how far its choice is from the optimum.
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "boards/board_model.h"
#include "cli/arrival_flags.h"
#include "cli/commands.h"
#include "cli/json_recorder.h"
#include "cli/note_text.h"
#include "cli/policy_transfer.h"
#include "cli/predicted_work.h"
#include "cli/read_script.h"
#include "cli/recording.h"
#include "cli/request_text.h"
#include "cli/simulated_problem.h"
#include "limits/operator_limit.h"
#include "limits/schedule_limit.h"
#include "policies/lua/lua_policy.h"
#include "simulator/exhaustive_optimum.h"
#include "simulator/simulation.h"

namespace gearshift {
namespace {

using nlohmann::json;

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

File open_log(const std::string& path) {
  if (path.empty()) return nullptr;
  File file(std::fopen(path.c_str(), "w"));
  if (!file) throw std::runtime_error(fmt::format("--log {}: cannot be written", path));
  return file;
}

// The choice on its true cost, and what it is compared with.
struct Verdict {
  std::optional<TrueCost> chosen;
  std::optional<double> value;  // nullopt: a limit is broken by the true cost
  std::optional<ExhaustiveOptimum> optimum;

  std::optional<double> excess() const {
    if (!value || !optimum) return std::nullopt;
    return *value / optimum->value - 1;
  }
};

Verdict judge(const SimulationProblem& problem, const SimulationResult& result) {
  const SimulatedTask& task = problem.tasks.front();
  Verdict verdict;
  verdict.optimum = exhaustive_optimum(problem);
  if (result.ending == Ending::held) verdict.chosen = result.cost[index(task.kind)];
  if (!verdict.chosen) return verdict;
  verdict.value = judged(judging_goal(problem), task.kind,
                         result.setting.batch_size[index(task.kind)], *verdict.chosen);
  return verdict;
}

json value_or_null(const std::optional<double>& value) { return value ? json(*value) : json(); }

json cost_json(const KnobSpace& knobs, const Setting& setting, const TrueCost& cost) {
  return {{"setting", to_json(knobs, setting)},
          {"minibatch_ms", cost.minibatch_ms},
          {"power_w", cost.power_w}};
}

json result_json(const SimulationProblem& problem, const SimulationResult& result) {
  const Verdict verdict = judge(problem, result);
  const Goal& goal = problem.goal;
  json out = {{"board", problem.board},
              {"workload", problem.tasks.front().name},
              {"problem", kind_name(problem.tasks.front().kind)},
              {"seed", problem.seed},
              {"ending", ending_name(result.ending)},
              {"solvable", verdict.optimum.has_value()},
              {"solved", verdict.value.has_value()},
              {"value", value_or_null(verdict.value)},
              {"excess", value_or_null(verdict.excess())},
              {"modes_profiled", result.measured.size()},
              {"measurements", result.measurements},
              {"probes_over_cap", result.measured_over_cap},
              {"filled_nearest", result.filled_nearest},
              {"filled_model", result.filled_model},
              {"refused", result.refused},
              {"not_applied", result.not_applied},
              {"search_s", seconds(result.search)},
              {"search_j", result.search_j},
              {"over_ws", result.energy.over_cap_j},
              {"over_s", result.energy.over_cap_s},
              {"breaches", result.energy.breaches},
              {"longest_over_s", result.energy.longest_over_cap_s},
              {"energy_j", result.energy.energy_j},
              {"duration_s", seconds(result.duration)},
              {"train_samples", result.samples[index(Kind::train)]},
              {"infer_samples", result.samples[index(Kind::infer)]},
              {"guard_steps", result.guard_steps},
              {"drifts", result.drifts},
              {"policy_errors", result.policy_errors}};
  out.update(to_json(judging_goal(problem)));
  out["cap_w"] = goal.power_mw ? json(static_cast<double>(*goal.power_mw) / 1000) : json();
  out["energy_limit_j"] = goal.energy_j ? json(*goal.energy_j) : json();
  out["latency_ms"] = goal.latency ? json(seconds(*goal.latency) * 1e3) : json();
  out["rate_per_s"] = goal.arrivals_per_s > 0 ? json(goal.arrivals_per_s) : json();
  out["held"] = to_json(problem.knobs, result.setting);
  out["chosen"] =
      verdict.chosen ? cost_json(problem.knobs, result.setting, *verdict.chosen) : json();
  out["observation"] = result.observation ? to_json(problem.knobs, *result.observation) : json();
  out["optimum"] = json();
  if (verdict.optimum) {
    out["optimum"] = cost_json(problem.knobs, verdict.optimum->setting, verdict.optimum->cost);
    out["optimum"]["value"] = verdict.optimum->value;
  }
  if (result.requests) out["requests"] = to_json(*result.requests);
  if (!result.policy_error.empty()) out["policy_error"] = result.policy_error;
  return out;
}

std::string objective_text(Objective objective, double value) {
  switch (objective) {
    case Objective::time:
      return fmt::format("{:.3f} ms a sample", 1e3 * value);
    case Objective::energy:
      return fmt::format("{:.3f} J a sample", value);
    case Objective::latency:
      return fmt::format("{:.1f} ms of latency", 1e3 * value);
    case Objective::weighted:
      return fmt::format("{:.4f} of the reference's cost", value);
    case Objective::target:
      return fmt::format("{:.3f} J a sample, its time priced", value);
    case Objective::throughput:
      return fmt::format("{:.2f} training samples a second", 1 / value);
  }
  return {};
}

void print_cost(const char* what, const SimulationProblem& problem, const Setting& setting,
                const TrueCost& cost, const std::optional<double>& value) {
  fmt::print("  {:<9}{}: {:.1f} W, {:.1f} ms a minibatch{}\n", what,
             describe(problem.knobs, setting), cost.power_w, cost.minibatch_ms,
             value ? ", " + objective_text(problem.goal.objective, *value)
                   : std::string("; its true cost breaks a limit"));
}

void print_choice(const SimulationProblem& problem, const SimulationResult& result) {
  const Verdict verdict = judge(problem, result);
  if (result.ending != Ending::held) {
    const std::string held = describe(problem.knobs, result.setting);
    fmt::print("  {} {}\n",
               result.ending == Ending::safe ? "no choice: the safe setting is held,"
                                             : "no choice in the time given; in force is",
               held);
    if (!result.policy_error.empty()) {
      fmt::print("  the policy failed: {}\n", result.policy_error);
    }
  } else if (verdict.chosen) {
    print_cost("chosen", problem, result.setting, *verdict.chosen, verdict.value);
  }
  if (!verdict.optimum) {
    fmt::print("  optimum  none: no setting keeps these limits\n");
    return;
  }
  print_cost("optimum", problem, verdict.optimum->setting, verdict.optimum->cost,
             verdict.optimum->value);
  if (const auto excess = verdict.excess()) {
    fmt::print("  {:+.1f} % against the optimum of all {} settings\n", 100 * *excess,
               problem.knobs.mode_count() * problem.tasks.front().batch_sizes.size());
  }
}

void print_result(const SimulationProblem& problem, const SimulationResult& result) {
  const SimulatedTask& task = problem.tasks.front();
  fmt::print(
      "{} {} on {}: least {} {}\n", task.name, kind_name(task.kind), problem.board,
      describe(problem.goal),
      (problem.goal.power_mw ? "within " + watts(*problem.goal.power_mw) : "without a power cap") +
          limits_text(problem.goal));
  if (!result.mission) print_choice(problem, result);
  fmt::print("  search   {} settings measured in {:.0f} s and {:.0f} J\n", result.measured.size(),
             seconds(result.search), result.search_j);
  if (problem.goal.power_mw) {
    fmt::print(
        "  over     {} of them over the cap; {:.1f} Ws over it in {:.1f} s; the guard stepped in "
        "{} times\n",
        result.measured_over_cap, result.energy.over_cap_j, result.energy.over_cap_s,
        result.guard_steps);
  }
  if (result.requests) fmt::print("  requests {}\n", requests_text(*result.requests));
  if (result.drifts > 0) {
    fmt::print("  drift    found {} time{}; each time everything was measured anew\n",
               result.drifts, result.drifts == 1 ? "" : "s");
  }
  if (result.filled_nearest + result.filled_model + result.refused + result.not_applied == 0)
    return;
  fmt::print(
      "  gaps     {} filled from the nearest cell, {} by the model, {} refused{}; {} modes did "
      "not apply\n",
      result.filled_nearest, result.filled_model, result.refused,
      result.refused > 0 ? " (--missing nearest fills them)" : "", result.not_applied);
}

// Null where none is wanted.
std::unique_ptr<RecordingWriter> record(const SimulateOptions& options,
                                        const SimulatedProblem& made, const NamedText& policy,
                                        const std::string& words) {
  if (options.record.empty()) return nullptr;
  if (!options.overwrite && std::filesystem::exists(options.record)) {
    throw std::invalid_argument(
        fmt::format("--record {}: the file is there already, and is not overwritten; give another "
                    "name or --overwrite",
                    options.record));
  }
  RecordingHeader header;
  header.command = words;
  if (made.board) header.board = board_text(*made.board);
  header.knobs = made.problem.knobs;
  header.traits = simulated_traits(made.problem);
  header.options = simulated_options(made.problem);
  header.policy = policy;
  header.limits = {made.caps.empty() ? "operator" : "schedule"};
  const bool plans = made.problem.mission && make_battery_options(options.mission.goal);
  if (plans) header.limits.emplace_back("battery");
  return start_recording(options.record, header, {.when_full = WhenFull::wait});
}

std::unique_ptr<LimitSource> limit_of(const SimulatedProblem& made) {
  if (made.caps.empty()) return std::make_unique<OperatorLimit>(made.problem.goal.power_mw);
  return std::make_unique<ScheduleLimit>(made.caps);
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

void run(const SimulateOptions& options, const std::string& words) {
  SimulatedProblem made = make_simulated_problem(options);
  const NamedText script = read_script(options.policy);
  const ReferenceTransfer transfer = policy_transfer();
  LuaPolicy policy(
      script.name, script.text,
      made.board ? board_model(made.board.get()) : built_in_board_model(made.problem.board),
      &transfer);
  policy.check();
  const std::unique_ptr<LimitSource> limit = limit_of(made);
  const std::unique_ptr<BatteryLimit> battery = battery_limit_of(options, made);
  std::vector<LimitSource*> limits = {limit.get()};
  if (battery) limits.push_back(battery.get());
  const File log = open_log(options.log);
  std::optional<JsonRecorder> recorder;
  if (log) recorder.emplace(made.problem.knobs, log.get());
  const std::unique_ptr<RecordingWriter> recording = record(options, made, script, words);
  Onlookers onlookers{.recorder = recorder ? &*recorder : nullptr, .recording = recording.get()};
  std::optional<TeeRecorder> tee;
  if (recording && recorder) tee.emplace(*recorder, *recording);
  if (recording) onlookers.recorder = tee ? static_cast<Recorder*>(&*tee) : recording.get();
  const SimulationResult result = simulate(made.problem, policy, limits, onlookers);
  // The choice answers to the cap that was in force when it was made.
  if (!made.caps.empty()) made.problem.goal.power_mw = limit->power_mw(Time{} + result.duration);
  // So it does to what settings cost by then.
  for (SimulatedTask& task : made.problem.tasks) {
    task.costs = &task.costs_at(Time{} + result.duration);
    task.changes.clear();
  }
  if (recording) recording->finish();
  if (recording && recording->failed()) {
    throw std::runtime_error(fmt::format("--record {}: {}", options.record, recording->failure()));
  }
  if (options.json) {
    json out = result_json(made.problem, result);
    if (result.mission) {
      out["mission"] = mission_json(options.mission, made.problem, result, battery.get());
    }
    std::printf("%s\n", out.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
  } else {
    print_result(made.problem, result);
    if (!result.mission) return;
    fmt::print("{}", mission_text(options.mission, made.problem, result, battery.get()));
  }
}

void add_problem_flags(CLI::App& command, SimulateOptions& options) {
  command.add_option("--profile", options.profile, "measured table that says what settings cost");
  command.add_option("--trace", options.trace,
                     "recording whose measurements say it (see gearshift run --record)");
  command.add_option("--board", options.board,
                     "board whose model says it, a built-in id or a board file");
  command.add_option("--workload", options.workload, "which of the profile's or model's");
  command.add_option("--problem", options.kind, "train or infer")
      ->check(CLI::IsMember({"train", "infer"}))
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
                     "KNOB=A,B,C: the knob has only these values (may be given again)");
  command
      .add_option("--batch-sizes", options.batch_sizes,
                  "allowed ones (default: the profile's; by a model 16, or 1 to 64 for infer)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--batch-size", options.batch_size,
                     "at the beginning (default: 16 where allowed, else the least)");
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
  command->add_option("--prior", options->prior,
                      "profile of other workloads that the script may read (may be given again)");
  command
      ->add_option(
          "--effects", options->effects,
          "none, all, or some of jitter,first,lag,slow-lag,noise,quantised,unapplied,hotplug")
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
  command->add_option("--seed", options->seed, "of noise, faults and the policy")
      ->capture_default_str();
  command->add_option("--duration", options->duration, "most virtual time")->capture_default_str();
  command->add_option("--log", options->log, "file for each decision, one JSON object a line");
  command->add_option("--record", options->record,
                      "record the run into this file, for gearshift replay and export");
  command->add_flag("--overwrite", options->overwrite, "replace a recording that is there already");
  command->add_flag("--json", options->json, "print the result as one JSON object");
  command->footer(
      "Example: ResNet-18 on the model of an AGX Orin under 30 W, without and with noise\n"
      "  gearshift simulate --board jetson-agx-orin --workload resnet18 --batch-sizes 8,16,32,64 "
      "\\\n"
      "    --policy scripts/binary_search.lua --power 30W\n"
      "  ... --effects all --seed 7\n"
      "Example: a sensor that repeats itself for 10 s, a board that throttles, a cap that falls\n"
      "  ... --fault reading_stuck@5s..15s --fault board_throttles:gpu_mhz=612@8s "
      "--fault cap_steps:20W@30s\n"
      "Faults: reading_missing, reading_stuck, reading_absurd, knob_refuses:KNOB, knob_lies:KNOB,\n"
      "board_throttles:KNOB=VALUE, trainer_stalls, trainer_vanishes, cap_steps:POWER,\n"
      "throttle:FACTOR (CPU and GPU run so much slower than set) and workload:PROFILE (what that\n"
      "profile, or with --board the model's workload, says is run under the same name). Without "
      "END\n"
      "one lasts to the end of the run, without BEGIN it is there from the start. The result is "
      "judged\n"
      "by the cap at the end.\n"
      "Costs in the result are true ones; what the policy measured is in --json and --log.");
  command->callback([command, options, &exit_code] {
    try {
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
