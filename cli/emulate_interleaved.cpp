// Sleeps, because that is all the work it has; reads the boot clock.
#include "cli/emulate_interleaved.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bridge/client/gearshift.hpp"
#include "cli/arrival_flags.h"
#include "cli/boottime_clock.h"
#include "cli/commands.h"
#include "cli/daemon_messages.h"
#include "cli/flag_value.h"
#include "cli/stop_signals.h"
#include "cli/units.h"
#include "controller/ledger.h"
#include "simulator/board_clocks.h"
#include "simulator/board_state.h"
#include "simulator/emulated_interleaving.h"
#include "simulator/load.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

// A clock that changes in mid-minibatch counts from the next slice on.
constexpr Duration kInterleavedSlice = milliseconds(20);

// One kind's side: its connection, and its line in the board's list of loads.
struct Side {
  client::Workload client;
  DeviceFile load;
  Load line;
  bool answered = true;  // the daemon's newest wish
};

class InterleavedEmulation {
 public:
  InterleavedEmulation(const EmulateOptions& options, const BoardDescription& board,
                       const WorkloadParameters& train, const WorkloadParameters& infer,
                       Sysroot& root)
      : options_(options),
        latency_(flag_value("--latency", options.latency, parse_latency)),
        arrivals_(parse_arrivals(options.arrivals)),
        clocks_(board, root),
        infer_(side(Kind::infer, root)),
        train_(side(Kind::train, root)),
        work_(board,
              {&train, &infer, options.batch_size, options.serve_batch_size, &arrivals_, latency_},
              emulation_options(options, board)) {}

  void run(std::optional<Duration> duration) {
    began_ = clock_.now();
    while (!duration || clock_.now() - began_ < *duration) {
      const ModelMode& mode = clocks_.read();
      const Duration until = began_ + (work_.next_change(mode) - Time{}) - clock_.now();
      if (signals_.sleep(std::min(kInterleavedSlice, until))) break;
      const Time now = Time{} + (clock_.now() - began_);
      while (work_.now() < now) {
        if (work_.advance(now, clocks_.read())) change();
      }
      obey();
      if (work_.now() >= work_.report_due()) report();
      if (options_.json && now - told_ >= std::chrono::seconds(1)) tell(now);
    }
  }

  nlohmann::json summary() {
    report();
    return {{"workload", options_.workload},
            {"serves", options_.serve},
            {"duration_s", seconds(clock_.now() - began_)},
            {"train_minibatches", minibatches_[index(Kind::train)]},
            {"infer_minibatches", minibatches_[index(Kind::infer)]},
            {"arrived", requests_.arrived},
            {"served", requests_.served},
            {"late", requests_.late},
            {"refused", requests_.refused},
            {"latency_max_ms", 1e3 * seconds(requests_.latency_max)}};
  }

 private:
  Side side(Kind kind, Sysroot& root) const {
    const bool trains = kind == Kind::train;
    client::Options attach;
    attach.name = trains ? options_.workload : options_.serve;
    attach.kind = trains ? client::Kind::train : client::Kind::infer;
    attach.batch_size = trains ? options_.batch_size : options_.serve_batch_size;
    attach.batch_sizes = trains ? options_.batch_sizes : options_.serve_batch_sizes;
    attach.samples_per_epoch = trains ? options_.samples_per_epoch : 0;
    attach.endpoint = options_.endpoint;
    if (!trains) attach.latency = latency_;
    Load line;
    line.pid = getpid();
    line.name = attach.name;
    line.kind = kind;
    line.batch_size = attach.batch_size;
    line.batch_sizes = attach.batch_sizes;
    line.run = false;
    return {client::Workload(attach), root.open(BoardState::kLoadPath, Sysroot::Access::read_write),
            line};
  }

  static EmulationOptions emulation_options(const EmulateOptions& options,
                                            const BoardDescription& board) {
    const KnobSpace space = board.knob_space();
    return {.seed = options.seed,
            .jitter = flag_value("--jitter", options.jitter, parse_percent) / 100,
            .warm_up = Duration::zero(),  // requests cannot wait for it
            .highest_cpu_ghz = model_mode(space, space.highest(), {}).cpu_ghz,
            .samples_per_epoch = options.samples_per_epoch};
  }

  // A turn has ended or begun: the board draws what the turn does.
  void change() {
    if (const auto finished = work_.take_finished()) {
      ++minibatches_[index(finished->kind)];
      const EmulatedMinibatch& done = finished->minibatch;
      if (finished->kind == Kind::train) {
        train_.client.minibatch(done.epoch, done.elapsed, done.fetch_stall, done.compute);
      } else {
        infer_.client.minibatch(0, done.elapsed, done.fetch_stall, done.compute, done.batch_size);
      }
      obey();
    }
    declare(train_, work_.turn() == Kind::train, work_.train_batch_size());
    declare(infer_, work_.turn() == Kind::infer, work_.infer_batch_size());
  }

  static void declare(Side& side, bool run, std::int32_t batch_size) {
    if (side.line.run == run && side.line.batch_size == batch_size) return;
    side.line.run = run;
    side.line.batch_size = batch_size;
    side.load.write(format_load(side.line) + '\n');
  }

  // Between two minibatches: what the daemon asks for comes into force.
  void obey() {
    bool runs_changed = false;
    for (Side* const one : {&train_, &infer_}) {
      const bool asked = one->client.poll();
      messages_.tell(one->line.name, one->client.take_message());
      if (!asked) continue;
      const client::Wanted wanted = one->client.wanted();
      one->answered = false;
      runs_changed = true;
      if (one == &train_) {
        work_.request_train_batch_size(wanted.batch_size);
      } else {
        work_.set_infer_batch_size(wanted.batch_size);
      }
    }
    if (runs_changed) work_.set_runs(train_.client.runs(), infer_.client.runs());
    if (!train_.answered && !work_.train_batch_size_pending()) answer(train_);
    if (!infer_.answered && work_.turn() != Kind::infer) answer(infer_);
  }

  static void answer(Side& side) {
    side.client.applied();
    side.answered = true;
  }

  void report() {
    reports_.clear();
    work_.report(clocks_.read(), reports_);
    for (const Event& event : reports_) {
      const RequestReport& report = event.requests;
      ledger_.add(report);
      infer_.client.requests({.span = report.span,
                              .arrived = report.arrived,
                              .served = report.served,
                              .late = report.late,
                              .refused = report.refused,
                              .queued = report.queued,
                              .latency_p50 = report.latency_p50,
                              .latency_p95 = report.latency_p95,
                              .latency_p99 = report.latency_p99,
                              .latency_max = report.latency_max});
    }
  }

  // A line of JSON a second, for who looks on.
  void tell(Time now) {
    told_ += std::chrono::seconds(1);
    const nlohmann::json line = {{"second", std::llround(seconds(now - Time{}))},
                                 {"train_minibatches", minibatches_[index(Kind::train)]},
                                 {"infer_minibatches", minibatches_[index(Kind::infer)]},
                                 {"arrived", requests_.arrived},
                                 {"late", requests_.late}};
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
  }

  const EmulateOptions& options_;
  const Duration latency_;
  const ArrivalSpec arrivals_;
  const StopSignals signals_;
  const BoottimeClock clock_;
  BoardClocks clocks_;
  Side infer_;  // attaches first: a daemon that knows of the requests leaves the board as it is at
                // first
  Side train_;
  DaemonMessages messages_{"emulate"};
  EmulatedInterleaving work_;
  Time began_{};
  Time told_{};
  EventBuffer reports_;
  Ledger ledger_;
  const Requests& requests_ = ledger_.requests();
  std::array<std::int64_t, kKinds> minibatches_{};
};

void print_summary(const nlohmann::json& summary) {
  const double duration_s = summary["duration_s"];
  const double arrived = summary["arrived"];
  const double late = summary["late"];
  fmt::print(
      "{} beside {}, {:.1f} s: {} training minibatches ({:.2f} a second), {} requests arrived, {} "
      "late ({:.2f} %, {} refused or dropped), slowest {:.0f} ms\n",
      std::string(summary["workload"]), std::string(summary["serves"]), duration_s,
      std::int64_t(summary["train_minibatches"]),
      double(summary["train_minibatches"]) / std::max(duration_s, 1e-9), arrived, late,
      100 * late / std::max(1.0, arrived), std::int64_t(summary["refused"]),
      double(summary["latency_max_ms"]));
}

}  // namespace

int emulate_interleaved(const EmulateOptions& options, const BoardDescription& board,
                        const WorkloadParameters& train, const WorkloadParameters& infer,
                        Sysroot& root, std::optional<Duration> duration) {
  if (options.arrivals.empty() || options.latency.empty()) {
    throw std::invalid_argument(
        "--serve needs --arrivals and --latency, for example --arrivals poisson:60 --latency "
        "500ms");
  }
  InterleavedEmulation emulation(options, board, train, infer, root);
  emulation.run(duration);
  const nlohmann::json summary = emulation.summary();
  if (options.json) {
    std::printf("%s\n", summary.dump().c_str());
  } else {
    print_summary(summary);
  }
  return kExitOk;
}

}  // namespace gearshift
