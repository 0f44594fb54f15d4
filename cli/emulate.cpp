// gearshift emulate: a trainer that computes nothing and takes its minibatch times from the clocks
// of the virtual board it runs on. Sleeps, because that is all the work it has; reads the boot
// clock.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "boards/board_description.h"
#include "boards/sysroot.h"
#include "bridge/client/gearshift.hpp"
#include "bridge/endpoints.h"
#include "cli/arrival_flags.h"
#include "cli/boottime_clock.h"
#include "cli/commands.h"
#include "cli/daemon_messages.h"
#include "cli/emulate_interleaved.h"
#include "cli/emulate_options.h"
#include "cli/flag_value.h"
#include "cli/seed_flag.h"
#include "cli/select_workload.h"
#include "cli/stop_signals.h"
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
        work_(board.parameters(kind_), workload, options.batch_size, work_options(options, board)),
        save_time_(options.save_time.empty()
                       ? Duration{}
                       : flag_value("--save-time", options.save_time, parse_duration)),
        client_(
            {.name = options.workload,
             .kind = kind_ == Kind::train ? client::Kind::train : client::Kind::infer,
             .batch_size = options.batch_size,
             .batch_sizes = options.batch_sizes,
             .samples_per_epoch = options.samples_per_epoch,
             .endpoint = options.endpoint,
             .save = options.save_time.empty() ? std::function<void()>() : [this] { save(); }}) {}

  EmulationSummary run(std::optional<Duration> duration) {
    const Time began = clock_.now();
    Time before = began;
    declare();
    while (!stopped_ && !done() && (!duration || before - began < *duration)) {
      if (!client_.runs()) obey();
      const ModelMode& mode = clocks_.read();
      const Duration slice =
          client_.runs() ? std::min(kSlice, work_.remaining(mode, others_ms_)) : kSlice;
      if (signals_.sleep(slice)) break;
      const Time now = clock_.now();
      if (client_.runs()) spend(now - before);
      before = now + std::exchange(saved_for_, Duration{});
      if (now - declared_ >= kDeclareAgain) declare();
    }
    return summary_;
  }

 private:
  static EmulationOptions work_options(const EmulateOptions& options,
                                       const BoardDescription& board) {
    const KnobSpace space = board.knob_space();
    return {.seed = options.seed,
            .jitter = flag_value("--jitter", options.jitter, parse_percent) / 100,
            .warm_up = flag_value("--warm-up", options.warm_up, parse_duration),
            .highest_cpu_ghz = model_mode(space, space.highest(), {}).cpu_ghz,
            .samples_per_epoch = options.samples_per_epoch};
  }

  bool done() const {
    return options_.epochs > 0 &&
           summary_.samples / options_.samples_per_epoch >= std::int64_t{options_.epochs};
  }

  // Called between two minibatches. A batch size comes into force behind the batches that are under
  // way; waiting, or no longer waiting, does so at once.
  void obey() {
    const bool asked = client_.poll();
    messages_.tell(options_.workload, client_.take_message());
    if (asked) {
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

  // Within the client's poll(): nothing is trained meanwhile.
  void save() {
    const Time began = clock_.now();
    stopped_ = signals_.sleep(save_time_);
    saved_for_ += clock_.now() - began;
  }

  // The slice is over: minibatches that end in it are reported at their own length.
  void spend(Duration time) {
    const ModelMode& mode = clocks_.read();
    while (time > Duration::zero()) {
      time -= std::max(Duration(1), work_.work(time, mode, others_ms_));
      const std::optional<EmulatedMinibatch> finished = work_.take_finished();
      if (!finished) continue;
      summary_.add(finished->elapsed, finished->batch_size);
      client_.minibatch(finished->epoch, finished->elapsed, finished->fetch_stall,
                        finished->compute);
      obey();
      if (!client_.runs() || done()) return;
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
  const Duration save_time_;
  Duration saved_for_{};  // since the slice began
  bool stopped_ = false;
  client::Workload client_;
  DaemonMessages messages_{"emulate"};
  bool answered_ = true;
  Time declared_{};
  std::int32_t declared_batch_size_ = 0;
  double others_ms_ = 0;
  EmulationSummary summary_;
};

void print(const EmulationSummary& summary, const EmulateOptions& options) {
  if (options.json) {
    const nlohmann::json line = {
        {"workload", options.workload},         {"kind", options.kind},
        {"minibatches", summary.ms.count},      {"samples", summary.samples},
        {"minibatch_ms_mean", summary.ms.mean}, {"minibatch_ms_stddev", summary.stddev_ms()}};
    std::printf("%s\n", line.dump().c_str());
    return;
  }
  std::printf("%s %s: %u minibatches, %.2f ms each (standard deviation %.2f ms)\n",
              options.workload.c_str(), options.kind.c_str(), summary.ms.count, summary.ms.mean,
              summary.stddev_ms());
}

// The batch size at the beginning is one of those that the daemon may choose.
void offer(std::vector<std::int32_t>& sizes, std::int32_t batch_size) {
  sizes.push_back(batch_size);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
}

int run_emulation(EmulateOptions& options) {
  if (!options.endpoint.empty()) require_endpoint(options.endpoint);
  std::optional<Duration> duration;
  if (!options.duration.empty())
    duration = flag_value("--duration", options.duration, parse_duration);
  if (options.epochs > 0 && (options.samples_per_epoch == 0 || !options.serve.empty())) {
    throw std::invalid_argument("--epochs " + std::to_string(options.epochs) +
                                (options.serve.empty()
                                     ? " needs --samples-per-epoch above 0"
                                     : " does not go with --serve: use --duration"));
  }
  offer(options.batch_sizes, options.batch_size);
  offer(options.serve_batch_sizes, options.serve_batch_size);
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
  const Kind kind = options.kind == "train" ? Kind::train : Kind::infer;
  const WorkloadParameters& workload =
      require_workload(board, options.workload, kind, "--workload").second;
  if (!options.serve.empty()) {
    if (kind != Kind::train) throw std::invalid_argument("--serve goes with --kind train");
    const WorkloadParameters& served =
        require_workload(board, options.serve, Kind::infer, "--serve").second;
    return emulate_interleaved(options, board, workload, served, root, duration);
  }
  Emulation emulation(options, board, workload, root);
  print(emulation.run(duration), options);
  return kExitOk;
}

// Of what serves beside the training, which saves no work of its own.
void add_serve_flags(CLI::App& command, EmulateOptions& options, CLI::Option* save_time,
                     CLI::Option* warm_up) {
  CLI::Option* const serve =
      command
          .add_option("--serve", options.serve,
                      "serve this workload beside the training, by turns: mobilenet_v3, ...")
          ->excludes(save_time)
          ->excludes(warm_up);  // requests cannot wait for it
  command
      .add_option("--serve-batch-size", options.serve_batch_size, "requests in a batch, at first")
      ->needs(serve)
      ->check(CLI::Range(1, kMaxBatchSize))
      ->capture_default_str();
  command
      .add_option("--serve-batch-sizes", options.serve_batch_sizes,
                  "what the daemon may choose from")
      ->needs(serve)
      ->delimiter(',')
      ->check(CLI::Range(1, kMaxBatchSize))
      ->capture_default_str();
  command
      .add_option("--arrivals", options.arrivals, std::string("of the requests: ") + kArrivalForms)
      ->needs(serve);
  command
      .add_option("--latency", options.latency,
                  "a request must be answered within, for example 200ms")
      ->needs(serve);
}

}  // namespace

void add_emulate(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<EmulateOptions>();
  CLI::App* command = app.add_subcommand(
      "emulate", "Run a workload on a virtual board that takes as long as the board's model says");
  command
      ->add_option("--workload", options->workload,
                   "one of the board's model: resnet18, mobilenet_v3, lstm, ...")
      ->required();
  command->add_option("--sysroot", options->sysroot, "where the virtual board is mounted")
      ->required();
  command->add_option("--connect", options->endpoint,
                      "the daemon's endpoint; default: where a daemon listens by itself");
  command->add_option("--kind", options->kind, "train or infer")
      ->check(CLI::IsMember({"train", "infer"}))
      ->capture_default_str();
  command->add_option("--batch-size", options->batch_size, "samples in a minibatch, at first")
      ->check(CLI::Range(1, kMaxBatchSize))
      ->capture_default_str();
  command->add_option("--batch-sizes", options->batch_sizes, "what the daemon may choose from")
      ->delimiter(',')
      ->check(CLI::Range(1, kMaxBatchSize))
      ->capture_default_str();
  command->add_option("--duration", options->duration,
                      "how long, for example 60s or 5m; default: until stopped");
  add_seed_flag(*command, options->seed, "of the jitter");
  command->add_option("--jitter", options->jitter, "standard deviation of a minibatch's time")
      ->capture_default_str();
  CLI::Option* const warm_up =
      command
          ->add_option("--warm-up", options->warm_up,
                       "what the first minibatch takes longer, at the highest CPU clock")
          ->capture_default_str();
  CLI::Option* const save_time = command->add_option(
      "--save-time", options->save_time,
      "it saves its work when it is asked to, which takes so long: 0.5s; default: "
      "it is not asked");
  command
      ->add_option("--samples-per-epoch", options->samples_per_epoch,
                   "samples of an epoch; 0: unknown")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->capture_default_str();
  command->add_option("--epochs", options->epochs,
                      "end after so many; 0, as by itself: until stopped");
  add_serve_flags(*command, *options, save_time, warm_up);
  command->add_flag("--json", options->json, "print the summary as one line of JSON");
  command->footer(
      "It reports to the daemon as a real trainer does, obeys it, and runs on without one.\n"
      "Example: gearshift emulate --workload resnet18 --sysroot /tmp/orin\n"
      "Example: gearshift emulate --workload resnet18 --serve mobilenet_v3 --arrivals poisson:60 "
      "--latency 500ms --sysroot /tmp/orin\n"
      "Beside requests the daemon tunes their batches with objective throughput, which it has by "
      "default\n"
      "with its policy bayes.");
  command->callback([options, &exit_code] { exit_code = run_emulation(*options); });
}

}  // namespace gearshift
