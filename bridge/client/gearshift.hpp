// Attaches a program that trains or serves a DNN to the daemon; needs only zmq and msgpack.
//
//   gearshift::client::Workload workload({"resnet18", gearshift::client::Kind::train, 16, {8, 16,
//   32}}); for (...) {
//     if (workload.poll()) { use(workload.wanted().batch_size); workload.applied(); }
//     if (!workload.runs()) { workload.wait(std::chrono::seconds(1)); continue; }
//     train_one();
//     workload.minibatch(epoch, elapsed, fetch_stall, compute);
//   }
//
// No call blocks or fails for want of a daemon: without one reports are dropped, and a daemon that
// starts, dies or restarts is found again. The protocol is bridge/PROTOCOL.md.
//
// Has a thread, because a minibatch may take longer than the daemon waits for a sign of life: it
// sends heartbeats and hellos. Reads the steady clock, to know when one is due; never sends a time.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>
#include <zmq.hpp>

#include "bridge/client/gearshift_socket.hpp"
#include "bridge/client/gearshift_wire.hpp"

namespace gearshift::client {

// One workload's connection. The training loop's calls come from one thread.
class Workload {
 public:
  // Connects in the background. Throws std::invalid_argument for options that no daemon would take.
  explicit Workload(Options options)
      : options_(detail::checked(std::move(options))),
        in_force_{0, options_.batch_size, Run::both},
        wanted_(in_force_),
        newest_(in_force_) {
    connect(SteadyClock::now());
    service();
    thread_ = std::thread([this] { keep_alive(); });
  }

  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  // Says bye.
  ~Workload() {
    leave();
    thread_.join();
  }

  // Says bye: there is no more of this work. It is attached no more, and every call is free.
  void leave() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (leaving_) return;
      if (attached_) send_plain("bye");
      detach(SteadyClock::now());
      leaving_ = true;
    }
    wake_.notify_all();
  }

  // Reports that a minibatch has ended: of the batch size in force, or of `samples` where a batch
  // of requests would not wait for more. Durations as in PROTOCOL.md.
  void minibatch(std::uint32_t epoch, std::chrono::nanoseconds elapsed,
                 std::chrono::nanoseconds fetch_stall, std::chrono::nanoseconds compute,
                 std::int32_t samples = 0) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++sequence_;
    if (attached_) {
      frame_.begin("minibatch", 7).add("sequence", sequence_).add("set", in_force_.set);
      frame_.add("epoch", epoch);
      frame_.add("batch_size", samples > 0 ? samples : in_force_.batch_size);
      frame_.add("elapsed_ns", elapsed).add("fetch_stall_ns", fetch_stall);
      frame_.add("compute_ns", compute);
      send();
    }
    service();
  }

  // Reports what became of the requests (kind infer); RequestLog says when, and with what counts.
  void requests(const RequestCounts& counts) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++requests_sequence_;
    if (attached_) {
      detail::pack_requests(frame_, requests_sequence_, in_force_.set, counts);
      send();
    }
    service();
  }

  // True once for each new wish of the daemon: take wanted(), then call applied() or refused().
  bool poll() {
    std::unique_lock<std::mutex> lock(mutex_);
    service();
    save(lock);
    if (!news_) return false;
    news_ = false;
    wanted_ = newest_;
    return true;
  }

  // The wish that the last poll() brought; changes in poll() alone.
  Wanted wanted() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return wanted_;
  }

  // False while the daemon wants this kind to wait: stop between two minibatches, and wait().
  bool runs() const {
    const Run run = wanted().run;
    return run == Run::both || (run == Run::train) == (options_.kind == Kind::train);
  }

  // Blocks until a message of the daemon came or the time is over. Only for a workload that waits.
  void wait(std::chrono::milliseconds timeout) {
    std::unique_lock<std::mutex> lock(mutex_);
    // After a signal the caller looks at what it means.
    if (!socket_.wait(std::min(timeout, kLongestPause))) return;
    service();
    save(lock);
  }

  // Blocks until the accelerator is this workload's, among those that take turns through the
  // daemon; returns the turn's number for end_turn(), and 0 at once where no daemon gives any.
  std::uint64_t take_turn() {
    std::unique_lock<std::mutex> lock(mutex_);
    SteadyClock::time_point asked;
    for (std::uint64_t attachment = 0; attached_ && knows_turns_;) {
      const auto now = SteadyClock::now();
      const bool first = attachment != attachments_;
      if (first) ++turn_;
      // A daemon drops what is beyond a client's budget, so it is asked again.
      if (first || now - asked >= kTurnAgain) {
        attachment = attachments_;
        asked = now;
        frame_.begin("turn_request", 1).add("turn", turn_);
        if (!send() && first) return 0;
      }
      socket_.wait(kLongestPause);  // a signal does not end the wait for the turn
      service();
      if (attached_ && attachment == attachments_ && turn_given_ == turn_) return turn_;
    }
    return 0;
  }
  // Ends a turn; of 0 there is nothing to end.
  void end_turn(std::uint64_t turn) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (turn == 0 || !attached_) return;
    frame_.begin("turn_end", 1).add("turn", turn);
    send();
  }

  // wanted() is in force: the next minibatch to begin runs with it.
  void applied() {
    const std::lock_guard<std::mutex> lock(mutex_);
    in_force_ = wanted_;
    if (!attached_ || in_force_.set == 0) return;
    frame_.begin("applied", 3).add("set", in_force_.set).add("batch_size", in_force_.batch_size);
    frame_.add("run", std::string_view(detail::run_name(in_force_.run)));
    send();
  }

  // wanted() will not be in force. `code`: "batch_size", "run", "memory" or "other".
  void refused(const std::string& code, const std::string& message) {
    const std::lock_guard<std::mutex> lock(mutex_);
    refuse(wanted_.set, code, message);
    wanted_ = in_force_;
  }

  // A daemon has taken this workload; and it is the one of its kind that gets wishes.
  bool attached() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return attached_;
  }
  bool managed() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return attached_ && managed_;
  }

  // What the daemon last said for people (why a workload is not managed, what was wrong), once.
  std::string take_message() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(message_, std::string());
  }

 private:
  using SteadyClock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kShortestPause{2};
  static constexpr std::chrono::milliseconds kLongestPause{250};
  static constexpr std::chrono::seconds kTurnAgain{1};

  void connect(SteadyClock::time_point now) {
    socket_.connect(detail::find_endpoint(options_.endpoint), options_.key, now.time_since_epoch());
  }

  // False where no daemon takes it now.
  bool send() {
    if (!socket_.send(frame_.data(), frame_.size())) return false;
    sent_ = SteadyClock::now();
    return true;
  }

  bool send_plain(const char* type) {
    frame_.begin(type, 0);
    return send();
  }

  // Where the daemon asked for it. The thread keeps the attachment alive meanwhile.
  void save(std::unique_lock<std::mutex>& lock) {
    if (checkpoint_ == 0) return;
    const std::uint32_t checkpoint = std::exchange(checkpoint_, 0);
    const std::uint64_t attachment = attachments_;
    lock.unlock();
    detail::Frame answer = detail::save(checkpoint, options_.save);
    lock.lock();
    service();
    if (!attached_ || attachment != attachments_) return;
    std::swap(frame_, answer);
    send();
  }

  void refuse(std::uint32_t set, const std::string& code, const std::string& message) {
    if (!attached_ || set == 0) return;
    frame_.begin("refused", 3)
        .add("set", set)
        .add("code", detail::cut(code, detail::kMaxNameBytes));
    frame_.add("message", detail::cut(message, detail::kMaxTextBytes));
    send();
  }

  // Takes what came, and sends what is due. Bounded, so that no daemon can hold up a minibatch.
  void service() {
    if (leaving_) return;
    zmq::message_t frame;
    for (int count = 0; count < 64 && socket_.receive(frame); ++count) {
      detail::Incoming incoming;
      if (detail::decode(frame.data(), frame.size(), incoming)) take(incoming);
    }
    const auto now = SteadyClock::now();
    if (attached_ && now - heard_ > silent_after_) detach(now);
    if (attached_ && now - sent_ >= heartbeat_) send_plain("heartbeat");
    if (!attached_ && now >= next_hello_) say_hello(now);
  }

  void say_hello(SteadyClock::time_point now) {
    try {
      connect(now);
    } catch (const std::invalid_argument& error) {
      message_ = error.what();
      next_hello_ = now + std::chrono::seconds(10);
      return;
    }
    detail::pack_hello(frame_, options_, in_force_.batch_size);
    if (send()) {
      next_hello_ = now + std::chrono::seconds(1);
      return;
    }
    const std::string trouble = socket_.disconnect_if_stuck(now.time_since_epoch());
    if (!trouble.empty()) message_ = trouble;
  }

  void take(const detail::Incoming& incoming) {
    const auto now = heard_ = SteadyClock::now();
    if (incoming.type == "welcome") {
      reset();
      attached_ = knows_turns_ = true;
      ++attachments_;
      managed_ = incoming.managed;
      message_ = incoming.message;
      if (incoming.heartbeat_ns > 0) heartbeat_ = std::chrono::nanoseconds(incoming.heartbeat_ns);
      if (incoming.silent_after_ns > 0) {
        silent_after_ = std::chrono::nanoseconds(incoming.silent_after_ns);
      }
    } else if (incoming.type == "set" && attached_) {
      take_set(incoming);
    } else if (incoming.type == "turn") {
      turn_given_ = static_cast<std::uint64_t>(incoming.turn);
    } else if (incoming.type == "checkpoint" && attached_ && options_.save) {
      checkpoint_ = static_cast<std::uint32_t>(incoming.checkpoint);
    } else if (incoming.type == "bye") {
      detach(now + std::chrono::seconds(1));
    } else if (incoming.type == "error" && incoming.code == "unknown_client") {
      if (attached_) detach(now);
    } else if (incoming.type == "error" && incoming.code == "unknown_type") {
      knows_turns_ = false;
    } else if (incoming.type == "error") {
      message_ = incoming.code + ": " + incoming.message;
      if (!attached_) next_hello_ = now + detail::hello_pause(incoming.code, random_());
    }
  }

  void take_set(const detail::Incoming& incoming) {
    const std::vector<std::int32_t>& sizes = options_.batch_sizes;
    const auto set = static_cast<std::uint32_t>(incoming.set);
    if (std::find(sizes.begin(), sizes.end(), incoming.batch_size) == sizes.end()) {
      refuse(set, "batch_size", std::to_string(incoming.batch_size) + " was not offered");
    } else {
      newest_ = {set, static_cast<std::int32_t>(incoming.batch_size),
                 detail::run_named(incoming.run)};
      news_ = true;
    }
  }

  // The batch size stays; numbers of the attachment that ended are void, and nobody has to wait.
  void reset() {
    checkpoint_ = 0;
    in_force_.set = 0;
    wanted_.set = 0;
    newest_ = {0, wanted_.batch_size, Run::both};
    news_ = wanted_.run != Run::both;
  }

  void detach(SteadyClock::time_point next_hello) {
    attached_ = false;
    next_hello_ = next_hello;
    pause_ = kShortestPause;
    reset();
  }

  void keep_alive() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!leaving_) {
      service();
      // Attaching is quick where a daemon runs; looking for one that does not costs next to
      // nothing.
      pause_ = attached_ ? kLongestPause : std::min(2 * pause_, kLongestPause);
      wake_.wait_for(lock, pause_);
    }
  }

  const Options options_;
  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable wake_;
  detail::DaemonSocket socket_;
  detail::Frame frame_;
  std::string message_;
  Wanted in_force_;  // what minibatches run with
  Wanted wanted_;    // what the training loop was told
  Wanted newest_;    // what the daemon asked for last; news_ until the loop is told
  bool news_ = false;
  bool attached_ = false;
  bool managed_ = false;
  bool leaving_ = false;
  std::uint64_t sequence_ = 0;
  std::uint64_t requests_sequence_ = 0;
  std::uint64_t attachments_ = 0;
  std::uint32_t checkpoint_ = 0;  // that was asked for and is not answered yet
  std::uint64_t turn_ = 0;        // number of the newest turn asked for
  std::uint64_t turn_given_ = 0;  // of the newest one given
  bool knows_turns_ = true;       // the daemon of this attachment does, as far as is known
  std::chrono::milliseconds pause_ = kShortestPause;  // between two looks of the thread
  std::chrono::nanoseconds heartbeat_ = std::chrono::seconds(1);
  std::chrono::nanoseconds silent_after_ = std::chrono::seconds(5);
  SteadyClock::time_point heard_{};
  SteadyClock::time_point sent_{};
  SteadyClock::time_point next_hello_{};
  // Other clients that say hello at the same time draw other pauses.
  std::mt19937_64 random_{
      static_cast<std::uint64_t>(getpid()) ^
      static_cast<std::uint64_t>(SteadyClock::now().time_since_epoch().count())};
  std::thread thread_;
};

// A turn on an accelerator that programs share, for as long as this lives:
//
//   const gearshift::client::HeldTurn turn(workload);
//   train_one();  // timed from here on: waiting for the turn is in no minibatch
class HeldTurn {
 public:
  explicit HeldTurn(Workload& workload) : workload_(workload), number_(workload.take_turn()) {}
  ~HeldTurn() { workload_.end_turn(number_); }
  HeldTurn(const HeldTurn&) = delete;
  HeldTurn& operator=(const HeldTurn&) = delete;

 private:
  Workload& workload_;
  const std::uint64_t number_;
};

}  // namespace gearshift::client
