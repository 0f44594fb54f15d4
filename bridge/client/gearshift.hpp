// Attaches a program that trains or serves a DNN to the daemon. bridge/client/README.md says how to
// compile it.
//
//   gearshift::client::Workload workload(
//       {"resnet18", gearshift::client::Kind::train, 16, {8, 16, 32}});
//   for (int trained = 0; trained < minibatches;) {
//     if (workload.poll()) {
//       use(workload.wanted().batch_size);
//       workload.applied();
//     }
//     if (!workload.runs()) {
//       workload.wait(std::chrono::seconds(1));
//       continue;
//     }
//     train_one();
//     ++trained;
//     workload.minibatch(epoch, elapsed, fetch_stall, compute);
//   }
//
// No call blocks or fails for want of a daemon: without one reports are dropped, and a daemon that
// starts, dies or restarts is found again. The protocol is bridge/PROTOCOL.md.
//
// A child that fork() makes is silent, and every call returns at once there: attach in it.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <zmq.hpp>

#include "bridge/client/gearshift_connection.hpp"
#include "bridge/client/gearshift_gives_up.hpp"
#include "bridge/client/gearshift_wire.hpp"

namespace gearshift::client {

// One workload's connection. The training loop's calls come from one thread.
class Workload {
 public:
  // Connects in the background. Throws std::invalid_argument for options that no daemon would take,
  // but not for what the environment says: take_message() tells of that. Where the process may open
  // no more files or threads it is as without a daemon, and take_message() says so.
  explicit Workload(Options options) : batch_size_(options.batch_size) {
    try {
      connection_ = std::make_unique<detail::Connection>(std::move(options));
    } catch (const std::system_error& error) {
      trouble_ = no_connection(error.what());
    } catch (const zmq::error_t& error) {
      trouble_ = no_connection(error.what());
    }
  }

  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  // Says bye. Blocks for half a second at most, where the name of the daemon's host is looked up.
  ~Workload() {
    // Nothing of a child's copy can be ended: the threads that it would wait for are the parent's.
    if (here() == nullptr) static_cast<void>(connection_.release());
  }

  // Says bye: there is no more of this work. It is attached no more, and every call is free.
  void leave() {
    if (auto* connection = here()) connection->leave();
  }

  // Reports that a minibatch has ended: of the batch size in force, or of `samples` where a batch
  // of requests would not wait for more. Durations as in PROTOCOL.md. Beyond fifteen hundred a
  // second they are not sent, nor one of more than an hour: a laptop's lid or a debugger, and no
  // minibatch.
  void minibatch(std::uint32_t epoch, std::chrono::nanoseconds elapsed,
                 std::chrono::nanoseconds fetch_stall, std::chrono::nanoseconds compute,
                 std::int32_t samples = 0) {
    using std::chrono::nanoseconds;
    if (elapsed > nanoseconds(detail::kMaxDurationNs)) return;
    if (auto* connection = here()) {
      const nanoseconds took = std::max(elapsed, nanoseconds(1));
      connection->minibatch(epoch, took, fetch_stall, compute, samples);
    }
  }

  // Reports what became of the requests (kind infer); RequestLog says when, and with what counts.
  void requests(const RequestCounts& counts) {
    if (auto* connection = here()) connection->requests(counts);
  }

  // True once for each new wish of the daemon: take wanted(), then call applied() or refused().
  bool poll() {
    auto* const connection = here();
    return connection != nullptr && connection->poll();
  }

  // The wish that the last poll() brought; changes in poll() and out_of_memory() alone.
  Wanted wanted() const {
    const auto* const connection = here();
    return connection != nullptr ? connection->wanted() : Wanted{0, batch_size_, Run::both};
  }

  // False while the daemon wants this kind to wait: stop between two minibatches, and wait().
  bool runs() const {
    const auto* const connection = here();
    return connection == nullptr || connection->runs();
  }

  // Blocks until a message of the daemon came or the time is over, 250 ms at most; a time below 0
  // is none. Only for a workload that waits, which then asks poll() and runs() again.
  void wait(std::chrono::milliseconds timeout) {
    if (auto* connection = here()) connection->wait(timeout);
  }

  // Blocks until the accelerator is this workload's, among those that take turns through the
  // daemon; returns the turn's number for end_turn(), and 0 at once where no daemon gives any.
  // Saves and pauses come before it, without a turn: held through a pause, it would be kept from
  // all others. poll() tells of the wish to pause all the same.
  std::uint64_t take_turn() { return take_turn({}).value_or(0); }
  // None once gives_up() says so, which is asked each 20 ms at most, in this thread: where a signal
  // came, or where there is something else to do meanwhile. It should be quick; what it throws ends
  // the wait.
  std::optional<std::uint64_t> take_turn(const GivesUp& gives_up) {
    auto* const connection = here();
    return connection != nullptr ? connection->take_turn(gives_up) : 0;
  }
  // Ends a turn; of 0 there is nothing to end.
  void end_turn(std::uint64_t turn) {
    if (auto* connection = here()) connection->end_turn(turn);
  }

  // wanted() is in force: the next minibatch to begin runs with it.
  void applied() {
    if (auto* connection = here()) connection->applied();
  }

  // wanted() will not be in force. `code`: "batch_size", "run", "memory" or "other".
  void refused(const std::string& code, const std::string& message) {
    if (auto* connection = here()) connection->refused(code, message);
  }

  // What was applied does not fit in memory, as a minibatch showed: what was in force before is
  // again, with `batch_size` instead, which fits: one that is offered and smaller, else
  // take_message() tells, and nothing changes. Where what failed is the program's own size, for
  // which no daemon asked, the workload attaches anew and offers the smaller ones; a turn that it
  // holds ends with that.
  void out_of_memory(std::int32_t batch_size, const std::string& message) {
    if (auto* connection = here()) connection->out_of_memory(batch_size, message);
  }

  // A daemon has taken this workload; and it is the one of its kind that gets wishes.
  bool attached() const {
    const auto* const connection = here();
    return connection != nullptr && connection->attached();
  }
  bool managed() const {
    const auto* const connection = here();
    return connection != nullptr && connection->managed();
  }

  // Reports of minibatches that an attached daemon was not sent or did not take.
  std::uint64_t dropped_reports() const {
    const auto* const connection = here();
    return connection != nullptr ? connection->dropped_reports() : 0;
  }

  // What people should know: what the daemon said (why a workload is not managed, what was wrong),
  // or what is wrong here. The oldest that was not taken yet; each text once; empty where there is
  // none.
  std::string take_message() {
    auto* const connection = here();
    return connection != nullptr ? connection->take_message() : std::exchange(trouble_, {});
  }
  // Has take_message() say it, once however often it is told.
  void tell(const std::string& trouble) {
    if (auto* connection = here()) connection->tell(trouble);
  }

 private:
  static std::string no_connection(const std::string& why) {
    return "no daemon can be connected to: " + why + "; raise ulimit -n or -u, and attach anew";
  }
  // None in a forked child, nor where none could be made.
  detail::Connection* here() const { return ::getpid() == process_ ? connection_.get() : nullptr; }

  const std::int32_t batch_size_;  // of the options
  const pid_t process_ = ::getpid();
  std::unique_ptr<detail::Connection> connection_;
  std::string trouble_;  // why there is none, until it is taken
};

}  // namespace gearshift::client
