// gearshift requests: a setting held beside requests for hours, request by request, in virtual
// time.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/arrival_flags.h"
#include "cli/commands.h"
#include "cli/flag_value.h"
#include "cli/knob_values.h"
#include "cli/powertrain_commands.h"
#include "cli/request_text.h"
#include "cli/seed_flag.h"
#include "cli/simulated_costs.h"
#include "cli/units.h"
#include "simulator/request_run.h"

namespace gearshift {
namespace {

using nlohmann::json;

constexpr double kMostRequests = 2e7;  // in memory at once, for the quantiles of the whole
constexpr double kMostMs = 1e6;

struct RequestOptions {
  std::string arrivals;
  std::string latency;
  std::string train_profile;
  std::string infer_profile;
  std::vector<std::string> mode;
  std::int32_t train_batch_size = 16;
  std::int32_t batch_size = 0;
  std::string train_time;
  std::vector<std::string> infer_times;
  std::string jitter = "3%";
  std::uint32_t minutes = 60;
  std::uint64_t seed = 1;
  bool json = false;
};

double milliseconds_of(const std::string& flag, const std::string& text) {
  const double ms = 1e3 * seconds(flag_value(flag, text, parse_duration));
  if (ms <= 0 || ms > kMostMs)
    throw std::invalid_argument(flag + ": '" + text + "': give a time above 0");
  return ms;
}

// "16=50ms"
InferenceTime inference_time(const std::string& text) {
  const std::size_t equals = text.find('=');
  InferenceTime time;
  try {
    std::size_t used = 0;
    time.batch_size = std::stoi(text, &used);
    if (equals == std::string::npos || used != equals || time.batch_size < 1)
      throw std::exception();
  } catch (const std::exception&) {
    throw std::invalid_argument("--infer-time '" + text + "': give BATCH=TIME, like 16=50ms");
  }
  time.minibatch_ms = milliseconds_of("--infer-time '" + text + "'", text.substr(equals + 1));
  return time;
}

PowerMode mode_of(const KnobSpace& knobs, const std::vector<std::string>& texts) {
  PowerMode mode = knobs.highest();
  for (const std::string& text : texts) {
    const KnobValues values = parse_knob_values(knobs, "--mode '" + text + "'", text);
    if (values.values.size() != 1) {
      throw std::invalid_argument("--mode '" + text + "': give one value");
    }
    mode.values[values.knob] = values.values.front();
  }
  return mode;
}

[[noreturn]] void no_cell(const std::string& file, const Profile& profile, const PowerMode& mode,
                          std::int32_t batch_size) {
  throw std::runtime_error(fmt::format(
      "{}: no cell for {} with a batch of {}; it has batches of {}", file,
      profile.knobs().describe(mode), batch_size, fmt::join(profile.batch_sizes(), ", ")));
}

// The one profile of `file`, of that kind.
Profile profile_of(const std::string& flag, const std::string& file, Kind kind) {
  Profile profile = read_one_profile(file);
  if (profile.kind == kind) return profile;
  throw std::invalid_argument(fmt::format("{} {}: has no {} workload; it has {} ({})", flag, file,
                                          kind_name(kind), profile.workload,
                                          kind_name(profile.kind)));
}

// One mode, which both tables know where there are two.
void take_profiles(const RequestOptions& options, RequestRun& run) {
  const Profile infer = profile_of("--infer-profile", options.infer_profile, Kind::infer);
  std::optional<Profile> train;
  if (!options.train_profile.empty()) {
    train = profile_of("--profile", options.train_profile, Kind::train);
  }
  const KnobSpace knobs = train ? common_knobs(*train, infer) : infer.knobs();
  const PowerMode mode = mode_of(knobs, options.mode);
  for (const std::int32_t batch_size : infer.batch_sizes()) {
    const ProfileCell* cell = infer.find(mode, batch_size);
    if (cell != nullptr && cell->timed()) run.infer.push_back({batch_size, cell->minibatch_ms});
  }
  if (infer.find(mode, run.batch_size) == nullptr) {
    no_cell(options.infer_profile, infer, mode, run.batch_size);
  }
  if (!train) return;
  const ProfileCell* cell = train->find(mode, options.train_batch_size);
  if (cell == nullptr || !cell->timed()) {
    no_cell(options.train_profile, *train, mode, options.train_batch_size);
  }
  run.train_minibatch_ms = cell->minibatch_ms;
}

RequestRun make_run(const RequestOptions& options) {
  RequestRun run;
  run.arrivals = parse_arrivals(options.arrivals);
  if (!options.latency.empty()) {
    run.latency = flag_value("--latency", options.latency, parse_latency);
  }
  run.batch_size = options.batch_size;
  run.jitter = flag_value("--jitter", options.jitter, parse_percent) / 100;
  run.minutes = options.minutes;
  run.seed = options.seed;
  const double requests = run.arrivals.mean_requests(std::chrono::minutes(run.minutes));
  if (!(requests > 0)) {
    throw std::invalid_argument(
        fmt::format("--arrivals '{}': no requests come in {} minutes; give a rate above 0",
                    options.arrivals, run.minutes));
  }
  if (requests > kMostRequests) {
    throw std::invalid_argument(fmt::format(
        "--minutes {}: {:.4g} requests at this rate, bursts included, and {:.0f} are kept at most; "
        "give fewer minutes, a lower rate or smaller bursts",
        run.minutes, requests, kMostRequests));
  }
  if (options.infer_profile.empty() == options.infer_times.empty()) {
    throw std::invalid_argument(
        "give --infer-profile FILE or --infer-time BATCH=TIME, like 16=50ms");
  }
  if (!options.train_profile.empty() && !options.train_time.empty()) {
    throw std::invalid_argument(
        "--train-time stands instead of the table of --profile; give one of them");
  }
  if (!options.infer_profile.empty()) {
    take_profiles(options, run);
  } else if (!options.train_profile.empty()) {
    throw std::invalid_argument("--profile goes with --infer-profile; give --train-time");
  } else if (!options.mode.empty()) {
    throw std::invalid_argument(
        "--mode goes with --infer-profile: --infer-time is of one mode already");
  }
  for (const std::string& text : options.infer_times) run.infer.push_back(inference_time(text));
  if (!options.train_time.empty())
    run.train_minibatch_ms = milliseconds_of("--train-time", options.train_time);
  std::sort(run.infer.begin(), run.infer.end(),
            [](const auto& one, const auto& other) { return one.batch_size < other.batch_size; });
  const auto twice = std::adjacent_find(
      run.infer.begin(), run.infer.end(),
      [](const auto& one, const auto& other) { return one.batch_size == other.batch_size; });
  if (twice != run.infer.end()) {
    throw std::invalid_argument(
        fmt::format("--infer-time: a batch of {} is given twice; give each batch size one time",
                    twice->batch_size));
  }
  const auto fits = [&](const InferenceTime& time) { return time.batch_size == run.batch_size; };
  if (std::count_if(run.infer.begin(), run.infer.end(), fits) != 1) {
    throw std::invalid_argument(
        fmt::format("--batch-size {}: its time must be given, and once", run.batch_size));
  }
  return run;
}

json minute_json(const RequestMinute& minute) {
  json out = to_json(minute.requests);
  out["train_minibatches"] = minute.trained;
  out["infer_minibatches"] = minute.inferred;
  out["partial_minibatches"] = minute.partial;
  return out;
}

json result_json(const RequestOptions& options, const RequestRun& run,
                 const RequestRunResult& result) {
  json out = minute_json(result.whole);
  out["arrivals"] = options.arrivals;
  out["latency_ms"] = run.latency > Duration::zero() ? json(1e3 * seconds(run.latency)) : json();
  out["batch_size"] = run.batch_size;
  out["train_minibatch_ms"] = run.train_minibatch_ms;
  out["seed"] = run.seed;
  out["share_in_time"] = result.share_in_time;
  out["train_minibatches_per_s"] = result.trained_per_s;
  out["minutes"] = json::array();
  for (const RequestMinute& minute : result.minutes) out["minutes"].push_back(minute_json(minute));
  return out;
}

void print_result(const RequestOptions& options, const RequestRun& run,
                  const RequestRunResult& result) {
  fmt::print("{}: {} minutes, {} requests at most in a minibatch{}\n", options.arrivals,
             run.minutes, run.batch_size,
             run.latency > Duration::zero() ? ", within " + milliseconds_text(run.latency) : "");
  fmt::print("  requests {}\n", requests_text(result.whole.requests));
  if (run.latency > Duration::zero()) {
    fmt::print("  minutes  {:.1f} % with the 99th percentile within the limit\n",
               100 * result.share_in_time);
  }
  fmt::print(
      "  beside   {:.3f} training minibatches a second; {} inference minibatches, {} of them "
      "not full\n",
      result.trained_per_s, result.whole.inferred, result.whole.partial);
}

void add_flags(CLI::App& command, RequestOptions& options) {
  command
      .add_option("--arrivals", options.arrivals,
                  std::string("how requests come: ") + kArrivalForms)
      ->required();
  command.add_option("--latency", options.latency,
                     "that a request must be answered within, for example 500ms");
  command.add_option("--batch-size", options.batch_size, "requests in an inference minibatch")
      ->required()
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--infer-profile", options.infer_profile,
                     "measured table of the inference workload");
  CLI::Option* const trains =
      command.add_option("--profile", options.train_profile,
                         "measured table of what trains beside it (default: nothing does)");
  command.add_option("--mode", options.mode,
                     "KNOB=VALUE of the mode that is held (may be given again; default: highest)");
  command
      .add_option("--train-batch-size", options.train_batch_size, "samples in a training minibatch")
      ->needs(trains)
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command
      .add_option(
          "--infer-time", options.infer_times,
          "instead of a table, BATCH=TIME of a minibatch, like 16=50ms (may be given again)")
      ->take_all();
  command.add_option("--train-time", options.train_time,
                     "instead of a table, the time of a training minibatch");
  command.add_option("--jitter", options.jitter, "deviation of a minibatch's time")
      ->capture_default_str();
  command.add_option("--minutes", options.minutes, "virtual minutes")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  add_seed_flag(command, options.seed, "of arrivals and jitter");
  command.add_flag("--json", options.json,
                   "print the result, minute by minute, as one JSON object");
}

}  // namespace

void add_requests(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RequestOptions>();
  CLI::App* command = app.add_subcommand(
      "requests", "Hold a setting beside requests in virtual time: true latencies, what trains");
  add_flags(*command, *options);
  command->footer(
      "Example: an hour of 60 requests a second, training beside them\n"
      "  gearshift requests --arrivals poisson:60 --latency 500ms --batch-size 16 \\\n"
      "    --infer-time 4=18ms --infer-time 16=50ms --train-time 40ms\n"
      "Example: a recorded hour at that rate and a burst, times of measured tables\n"
      "  gearshift requests --arrivals trace:arrivals.csv,60,x3@10m+30s --latency 1s \\\n"
      "    --infer-profile infer.csv --profile train.csv --mode gpu_mhz=930.75 --batch-size 16\n"
      "The accelerator takes turns by the rule that live workloads use (docs/simulator.md).");
  command->callback([options, &exit_code] {
    try {
      const RequestRun run = make_run(*options);
      const RequestRunResult result = run_requests(run);
      if (options->json) {
        std::printf("%s\n", result_json(*options, run, result)
                                .dump(-1, ' ', false, json::error_handler_t::replace)
                                .c_str());
      } else {
        print_result(*options, run, result);
      }
    } catch (const std::invalid_argument& error) {
      std::fprintf(stderr, "gearshift requests: %s\n", error.what());
      exit_code = kExitUsage;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gearshift requests: %s\n", error.what());
      exit_code = kExitFailed;
    }
  });
}

}  // namespace gearshift
