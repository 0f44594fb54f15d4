// gearshift emulate: a trainer that computes nothing and takes its minibatch times from the clocks
// of the virtual board it runs on. Sleeps, because that is all the work it has; reads the boot
// clock.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "boards/sysroot.h"
#include "bridge/client/gearshift.hpp"
#include "cli/boottime_clock.h"
#include "cli/commands.h"
#include "cli/units.h"
#include "simulator/board_clocks.h"
#include "simulator/board_state.h"
#include "simulator/emulated_workload.h"
#include "simulator/load.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

// A clock that changes in mid-minibatch counts from the next slice on.
constexpr Duration kSlice = milliseconds(20);
// A plain folder shows a line only to those who look in time: it is repeated.
constexpr Duration kDeclareAgain = std::chrono::seconds(1);

struct EmulateOptions {
  std::string workload;
  std::string sysroot;
  std::string endpoint;
  std::string kind = "train";
  std::int32_t batch_size = 16;
  std::vector<std::int32_t> batch_sizes = {8, 16, 32, 64};
  std::string duration;
  std::string jitter = "3%";
  std::string warm_up = "3.5s";
  std::int64_t samples_per_epoch = 50'000;
  std::uint64_t seed = 1;
  bool json = false;
};

// SIGINT and SIGTERM wait to be asked for; the client's thread inherits that.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  // Sleeps until the time is over or a signal came: true then.
  bool sleep(Duration duration) const {
    constexpr std::int64_t kNsInSecond = 1'000'000'000;
    const std::int64_t ns = std::max<std::int64_t>(0, duration.count());
    const timespec timeout{ns / kNsInSecond, ns % kNsInSecond};
    return sigtimedwait(&set_, nullptr, &timeout) > 0;
  }

 private:
  sigset_t set_{};
};

// What was done, for the line at the end.
struct Summary {
  std::int64_t minibatches = 0;
  double sum_ms = 0;
  double sum_squares_ms2 = 0;

  void add(Duration elapsed) {
    const double ms = 1e3 * seconds(elapsed);
    ++minibatches;
    sum_ms += ms;
    sum_squares_ms2 += ms * ms;
  }
  double mean_ms() const {
    return minibatches == 0 ? 0 : sum_ms / static_cast<double>(minibatches);
  }
  double stddev_ms() const {
    if (minibatches < 2) return 0;
    const auto n = static_cast<double>(minibatches);
    return std::sqrt(std::max(0.0, (sum_squares_ms2 - sum_ms * sum_ms / n) / (n - 1)));
  }
};

class Emulation {
 public:
  Emulation(const EmulateOptions& options, const BoardDescription& board,
            const WorkloadParameters& workload, Sysroot& root)
      : options_(options),
        board_(board),
        root_(root),
        clocks_(board, root),
        load_(root.open(BoardState::kLoadPath, Sysroot::Access::read_write)),
        kind_(options.kind == "train" ? Kind::train : Kind::infer),
        work_(*board.model, workload, options.batch_size, work_options(options, board)),
        client_({.name = options.workload,
                 .kind = kind_ == Kind::train ? client::Kind::train : client::Kind::infer,
                 .batch_size = options.batch_size,
                 .batch_sizes = options.batch_sizes,
                 .samples_per_epoch = options.samples_per_epoch,
                 .endpoint = options.endpoint}) {}

  Summary run(std::optional<Duration> duration) {
    const Time began = clock_.now();
    Time before = began;
    declare();
    while (!duration || before - began < *duration) {
      if (!client_.runs()) obey();
      const ModelMode& mode = clocks_.read();
      const Duration slice =
          client_.runs() ? std::min(kSlice, work_.remaining(mode, others_ms_)) : kSlice;
      if (signals_.sleep(slice)) break;
      const Time now = clock_.now();
      if (client_.runs()) spend(now - before);
      before = now;
      if (now - declared_ >= kDeclareAgain) declare();
    }
    return summary_;
  }

 private:
  static EmulationOptions work_options(const EmulateOptions& options,
                                       const BoardDescription& board) {
    const KnobSpace space = board.knob_space();
    return {.seed = options.seed,
            .jitter = parse_percent(options.jitter) / 100,
            .warm_up = parse_duration(options.warm_up),
            .highest_cpu_ghz = model_mode(space, space.highest(), {}).cpu_ghz};
  }

  // Called between two minibatches. A batch size comes into force behind the batches that are under
  // way; waiting, or no longer waiting, does so at once.
  void obey() {
    if (client_.poll()) {
      work_.request_batch_size(client_.wanted().batch_size);
      answered_ = false;
      declare();
    }
    if (!client_.runs()) work_.drain();
    if (!answered_ && !work_.batch_size_pending()) {
      client_.applied();
      answered_ = true;
      declare();
    } else if (work_.batch_size() != declared_batch_size_) {
      declare();
    }
  }

  // The slice is over: minibatches that end in it are reported at their own length.
  void spend(Duration time) {
    const ModelMode& mode = clocks_.read();
    while (time > Duration::zero()) {
      time -= std::max(Duration(1), work_.work(time, mode, others_ms_));
      const std::optional<EmulatedMinibatch> finished = work_.take_finished();
      if (!finished) continue;
      if (options_.samples_per_epoch > 0) {
        samples_ += finished->batch_size;
        epoch_ = static_cast<std::uint32_t>(samples_ / options_.samples_per_epoch);
      }
      client_.minibatch(epoch_, finished->elapsed, finished->fetch_stall, finished->compute);
      summary_.add(finished->elapsed);
      obey();
      if (!client_.runs()) return;
    }
  }

  void declare() {
    Load load;
    load.pid = getpid();
    load.name = options_.workload;
    load.kind = kind_;
    load.batch_size = declared_batch_size_ = work_.batch_size();
    load.batch_sizes = options_.batch_sizes;
    load.run = client_.runs();
    load_.write(format_load(load) + '\n');
    declared_ = clock_.now();
    const std::string loads = root_.try_read(BoardState::kLoadPath).value_or("");
    others_ms_ = other_loads_ms(loads, load.pid, board_, clocks_.read());
  }

  const EmulateOptions& options_;
  const BoardDescription& board_;
  Sysroot& root_;
  const StopSignals signals_;
  const BoottimeClock clock_;
  BoardClocks clocks_;
  DeviceFile load_;
  const Kind kind_;
  EmulatedWorkload work_;
  client::Workload client_;
  bool answered_ = true;
  Time declared_{};
  std::int32_t declared_batch_size_ = 0;
  double others_ms_ = 0;
  std::int64_t samples_ = 0;
  std::uint32_t epoch_ = 0;
  Summary summary_;
};

const WorkloadParameters& require_workload(const BoardDescription& board,
                                           const EmulateOptions& options) {
  const Kind kind = options.kind == "train" ? Kind::train : Kind::infer;
  if (const WorkloadParameters* found = find_workload(board, options.workload, kind)) {
    return *found;
  }
  std::string known;
  for (const auto& [name, workload] : board.workloads) {
    known +=
        (known.empty() ? "" : ", ") + name + " (" + std::string(kind_name(workload.kind)) + ')';
  }
  throw std::invalid_argument("--workload " + options.workload + ": the model of " + board.id +
                              " has no such " + options.kind + " workload; it has " + known);
}

void print(const Summary& summary, const EmulateOptions& options) {
  if (options.json) {
    const nlohmann::json line = {{"workload", options.workload},
                                 {"kind", options.kind},
                                 {"minibatches", summary.minibatches},
                                 {"minibatch_ms_mean", summary.mean_ms()},
                                 {"minibatch_ms_stddev", summary.stddev_ms()}};
    std::printf("%s\n", line.dump().c_str());
    return;
  }
  std::printf("%s %s: %lld minibatches, %.2f ms each (standard deviation %.2f ms)\n",
              options.workload.c_str(), options.kind.c_str(),
              static_cast<long long>(summary.minibatches), summary.mean_ms(), summary.stddev_ms());
}

int run_emulation(EmulateOptions& options) {
  std::optional<Duration> duration;
  if (!options.duration.empty()) duration = parse_duration(options.duration);
  std::vector<std::int32_t>& sizes = options.batch_sizes;
  sizes.push_back(options.batch_size);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  Sysroot root(options.sysroot);
  if (!root.exists(BoardState::kLoadPath)) {
    throw std::runtime_error(
        "--sysroot " + options.sysroot +
        " is no virtual board: it has no /.virtual/load. Mount one first: gearshift board "
        "--virtual jetson-agx-orin --mount " +
        options.sysroot);
  }
  const BoardDescription& board = *detect_board(root, built_in_boards()).board;
  if (!board.model) throw std::runtime_error("board " + board.id + " has no model to emulate by");
  Emulation emulation(options, board, require_workload(board, options), root);
  print(emulation.run(duration), options);
  return kExitOk;
}

}  // namespace

void add_emulate(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<EmulateOptions>();
  CLI::App* command = app.add_subcommand(
      "emulate", "Run a workload on a virtual board that takes as long as the board's model says");
  command->add_option("--workload", options->workload, "resnet18, mobilenet_v3, lstm, ...")
      ->required();
  command->add_option("--sysroot", options->sysroot, "Where the virtual board is mounted")
      ->required();
  command->add_option("--connect", options->endpoint,
                      "The daemon's endpoint; default: where a daemon listens by itself");
  command->add_option("--kind", options->kind, "train or infer")
      ->check(CLI::IsMember({"train", "infer"}))
      ->capture_default_str();
  command->add_option("--batch-size", options->batch_size, "Samples in a minibatch, at first")
      ->check(CLI::Range(1, kMaxBatchSize))
      ->capture_default_str();
  command->add_option("--batch-sizes", options->batch_sizes, "What the daemon may choose from")
      ->delimiter(',')
      ->check(CLI::Range(1, kMaxBatchSize))
      ->capture_default_str();
  command->add_option("--duration", options->duration, "60s, 5m; default: until stopped");
  command->add_option("--seed", options->seed, "Of the jitter")->capture_default_str();
  command->add_option("--jitter", options->jitter, "Standard deviation of a minibatch's time")
      ->capture_default_str();
  command
      ->add_option("--warm-up", options->warm_up,
                   "What the first minibatch takes longer, at the highest CPU clock")
      ->capture_default_str();
  command->add_option("--samples-per-epoch", options->samples_per_epoch, "0: unknown")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print the summary as one line of JSON");
  command->footer(
      "It reports to the daemon as a real trainer does, obeys it, and runs on without one.\n"
      "Example: gearshift emulate --workload resnet18 --sysroot /tmp/orin");
  command->callback([options, &exit_code] { exit_code = run_emulation(*options); });
}

}  // namespace gearshift
