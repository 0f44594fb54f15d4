// The C++ client's connection to the daemon: what Workload's calls do in the process that made it.
//
// Has a thread, because a minibatch may take longer than the daemon waits for a sign of life. Reads
// the steady clock, to know when one is due; never sends a time.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <zmq.hpp>

#include "bridge/client/gearshift_answers.hpp"
#include "bridge/client/gearshift_budget.hpp"
#include "bridge/client/gearshift_gives_up.hpp"
#include "bridge/client/gearshift_messages.hpp"
#include "bridge/client/gearshift_signals.hpp"
#include "bridge/client/gearshift_socket.hpp"
#include "bridge/client/gearshift_wire.hpp"
#include "bridge/client/gearshift_wishes.hpp"

namespace gearshift::client::detail {

// The calls are those of Workload, which says what they do.
class Connection {
 public:
  explicit Connection(Options options)
      : options_(checked(std::move(options))), wishes_(options_.batch_size) {
    check_given(socket_, options_, SteadyClock::now().time_since_epoch());
    service();
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { keep_alive(); });
  }
  ~Connection() {
    leave();
    thread_.join();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

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

  void minibatch(std::uint32_t epoch, std::chrono::nanoseconds elapsed,
                 std::chrono::nanoseconds fetch_stall, std::chrono::nanoseconds compute,
                 std::int32_t samples = 0) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++sequence_;
    if (attached_ && !budget_.take(SteadyClock::now().time_since_epoch())) {
      ++dropped_reports_;
    } else if (attached_) {
      const std::int32_t size = samples > 0 ? samples : wishes_.in_force.batch_size;
      pack_minibatch(frame_, sequence_, wishes_.in_force.set, epoch, size);
      frame_.add("elapsed_ns", elapsed).add("fetch_stall_ns", fetch_stall);
      frame_.add("compute_ns", compute);
      if (!send(frame_)) ++dropped_reports_;
    }
    service();
  }

  void requests(const RequestCounts& counts) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++requests_sequence_;
    if (attached_) {
      pack_requests(frame_, requests_sequence_, wishes_.in_force.set, counts);
      send(frame_);
    }
    service();
  }

  bool poll() {
    std::unique_lock<std::mutex> lock(mutex_);
    service();
    save(lock);
    return wishes_.poll();
  }

  Wanted wanted() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return wishes_.wanted;
  }

  bool runs() const { return is_in(wanted().run); }

  void wait(std::chrono::milliseconds timeout) {
    std::unique_lock<std::mutex> lock(mutex_);
    // After a signal the caller looks at what it means.
    if (!socket_.wait(std::clamp(timeout, std::chrono::milliseconds(0), kLongestPause))) return;
    service();
    save(lock);
  }

  std::optional<std::uint64_t> take_turn(const GivesUp& gives_up) {
    std::unique_lock<std::mutex> lock(mutex_);
    bool gave_up = false;
    try {
      while (!gave_up && pause(lock, gives_up)) {
        awaits_turn_ = true;
        const std::optional<std::uint64_t> turn = wait_for_turn(lock, gives_up, gave_up);
        awaits_turn_ = false;
        if (turn) return turn;
      }
    } catch (...) {  // what gives_up() threw: the others need not wait until the turn is lost
      if (!lock.owns_lock()) lock.lock();
      if (std::exchange(awaits_turn_, false) && attached_) send_turn("turn_end", turn_);
      throw;
    }
    return std::nullopt;
  }
  void end_turn(std::uint64_t turn) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (turn != 0 && attached_) send_turn("turn_end", turn);
  }

  void applied() {
    const std::lock_guard<std::mutex> lock(mutex_);
    wishes_.apply();
    send_applied(wishes_.in_force);
  }

  void refused(const std::string& code, const std::string& message) {
    const std::lock_guard<std::mutex> lock(mutex_);
    refuse(wishes_.wanted.set, code, message);
    wishes_.wanted = wishes_.in_force;
  }

  void out_of_memory(std::int32_t batch_size, const std::string& message) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::string fault = wishes_.fault_of_smaller(batch_size, options_.batch_sizes);
    if (!fault.empty()) return messages_.tell(fault);
    refuse(wishes_.in_force.set, "memory", message);
    // For the program's own size nobody asked: it attaches anew, and offers less.
    const Wanted failed = wishes_.fall_back(batch_size);
    if (failed.set != 0 || !leave_out_from(failed.batch_size, options_.batch_sizes)) return;
    detach(SteadyClock::now());
    service();
  }

  bool attached() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return attached_;
  }
  bool managed() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return attached_ && managed_;
  }

  std::uint64_t dropped_reports() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return dropped_reports_;
  }

  std::string take_message() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return messages_.take();
  }
  void tell(const std::string& trouble) {
    const std::lock_guard<std::mutex> lock(mutex_);
    messages_.tell(trouble);
  }

 private:
  using SteadyClock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kShortestPause{2};
  static constexpr std::chrono::milliseconds kLongestPause{250};
  static constexpr std::chrono::milliseconds kTurnPause{20};

  bool is_in(Run run) const { return detail::runs(options_.kind, run); }
  bool must_pause() const {
    return attached_ && (wishes_.checkpoint != 0 || !is_in(wishes_.asked().run));
  }

  // Saves if the daemon asked to, and waits for as long as it wants this kind to. What it asks, to
  // wait, is in force then; the program is told by poll() and has its batch size until that. False
  // where gives_up() came first.
  bool pause(std::unique_lock<std::mutex>& lock, const GivesUp& gives_up) {
    save(lock);
    for (;;) {
      if (over(lock, gives_up)) return false;
      if (!attached_ || is_in(wishes_.asked().run)) return true;
      if (wishes_.pause()) send_applied(wishes_.asked());
      wait_readable(lock, socket_.descriptor(), kTurnPause);
      service();
      save(lock);
    }
  }

  // The turn's number; 0 where no daemon gives any, none where must_pause() or gives_up() is true.
  std::optional<std::uint64_t> wait_for_turn(std::unique_lock<std::mutex>& lock,
                                             const GivesUp& gives_up, bool& gave_up) {
    SteadyClock::time_point asked;
    for (std::uint64_t attachment = 0; attached_ && knows_turns_; service()) {
      const bool first = attachment != attachments_;
      gave_up = !first && over(lock, gives_up);
      const auto now = SteadyClock::now();
      if (first) {
        ++turn_;
      } else if (gave_up || must_pause()) {
        send_turn("turn_end", turn_);
        return std::nullopt;
      } else if (turn_given_ == turn_) {
        return turn_;
      }
      // A daemon drops what is beyond a client's budget, so it is asked again.
      if (first || now - asked >= kTurnPause) {
        attachment = attachments_;
        asked = now;
        if (!send_turn("turn_request", turn_) && first) return 0;
      } else {
        wait_readable(lock, socket_.descriptor(), kTurnPause);
      }
    }
    return 0;
  }

  // False where no daemon takes it now.
  bool send(const Frame& frame) {
    if (!socket_.send(frame.data(), frame.size())) return false;
    sent_ = SteadyClock::now();
    return true;
  }
  bool send_plain(const char* type) { return send(frame_.begin(type, 0)); }
  bool send_turn(const char* type, std::uint64_t turn) {
    return send(frame_.begin(type, 1).add("turn", turn));
  }
  void answer(const Frame& frame) {
    answers_.add(frame);
    if (answers_.send(socket_)) sent_ = SteadyClock::now();
  }
  void send_applied(const Wanted& wanted) {
    if (!attached_ || wanted.set == 0) return;
    pack_applied(frame_, wanted);
    answer(frame_);
  }

  // Where the daemon asked for it. The thread keeps the attachment alive meanwhile.
  void save(std::unique_lock<std::mutex>& lock) {
    if (wishes_.checkpoint == 0) return;
    const std::uint32_t checkpoint = std::exchange(wishes_.checkpoint, 0);
    const std::uint64_t attachment = attachments_;
    lock.unlock();
    const Frame reply = detail::save(checkpoint, options_.save);
    lock.lock();
    service();
    if (!attached_ || attachment != attachments_) return;
    answer(reply);
  }

  void refuse(std::uint32_t set, const std::string& code, const std::string& message) {
    if (!attached_ || set == 0) return;
    pack_refused(frame_, set, code, message);
    answer(frame_);
  }

  // Takes what came, and sends what is due. Bounded, so that no daemon can hold up a minibatch.
  void service() {
    if (leaving_) return;
    zmq::message_t frame;
    for (int count = 0; count < 64 && socket_.receive(frame); ++count) {
      const bool part = frame.more() || parts_;  // of several frames: no message
      parts_ = frame.more();
      Incoming incoming;
      if (!part && decode(frame.data(), frame.size(), incoming)) take(incoming);
    }
    const auto now = SteadyClock::now();
    if (answers_.send(socket_)) sent_ = now;
    if (attached_ && now - heard_ > signs_.silent_after) detach(now);
    if (attached_ && now - sent_ >= signs_.heartbeat) send_plain("heartbeat");
    if (!attached_ && now >= next_hello_) say_hello(now);
  }

  void say_hello(SteadyClock::time_point now) {
    try {
      std::string distrusted;
      socket_.look(options_, now.time_since_epoch(), distrusted);
      messages_.tell(distrusted);
    } catch (const std::invalid_argument& error) {
      messages_.tell(error.what());
      next_hello_ = now + std::chrono::seconds(10);
      return;
    }
    pack_hello(frame_, options_, wishes_.in_force.batch_size);
    if (send(frame_)) {
      next_hello_ = now + std::chrono::seconds(1);
      return;
    }
    messages_.tell(socket_.disconnect_if_stuck(now.time_since_epoch()));
  }

  void take(const Incoming& incoming) {
    const auto now = heard_ = SteadyClock::now();
    if (incoming.type == "welcome") {
      const auto signs = signs_of_life(incoming);
      if (!signs) return;
      wishes_.reset();
      attached_ = knows_turns_ = true;
      ++attachments_;
      managed_ = incoming.managed;
      messages_.tell(incoming.message);
      signs_ = *signs;
    } else if (incoming.type == "set" && attached_) {
      take_set(incoming);
    } else if (incoming.type == "turn") {
      turn_given_ = static_cast<std::uint64_t>(incoming.turn);
    } else if (incoming.type == "checkpoint" && attached_ && options_.save) {
      wishes_.take_checkpoint(incoming);
    } else if (incoming.type == "bye") {
      detach(now + std::chrono::seconds(1));
    } else if (incoming.type == "error" && incoming.code == "unknown_client") {
      if (attached_) detach(std::max(now, next_hello_));  // not once for each report
    } else if (incoming.type == "error" && incoming.code == "unknown_type") {
      knows_turns_ = false;
    } else if (incoming.type == "error") {
      messages_.tell(incoming.code + ": " + incoming.message);
      if (!attached_) next_hello_ = now + hello_pause(incoming.code, random_());
    }
  }

  void take_set(const Incoming& incoming) {
    if (!is_set(incoming) || incoming.set <= wishes_.newest.set) return;
    if (wishes_.take(incoming, options_.batch_sizes)) return;
    refuse(static_cast<std::uint32_t>(incoming.set), "batch_size",
           std::to_string(incoming.batch_size) + " was not offered");
  }

  void detach(SteadyClock::time_point next_hello) {
    attached_ = false;
    answers_.forget();
    next_hello_ = next_hello;
    pause_ = kShortestPause;
    wishes_.reset();
  }

  std::chrono::milliseconds longest_pause() const {
    return std::min(kLongestPause,
                    std::chrono::duration_cast<std::chrono::milliseconds>(signs_.heartbeat / 2));
  }

  void keep_alive() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!leaving_) {
      // Who waits for a turn does so itself: one that this thread took would be found 20 ms later.
      if (!awaits_turn_) service();
      // Attaching is quick where a daemon runs; looking for one that does not costs little.
      pause_ = attached_ ? longest_pause() : std::min(2 * pause_, kLongestPause);
      wake_.wait_for(lock, pause_);
    }
  }

  Options options_;           // but for the batch sizes that it offers, as they were given
  mutable std::mutex mutex_;  // guards these, and everything below
  std::condition_variable wake_;
  DaemonSocket socket_;
  Frame frame_;
  ReportBudget budget_;
  Answers answers_;
  std::uint64_t dropped_reports_ = 0;
  Messages messages_;
  Wishes wishes_;
  bool attached_ = false;
  bool managed_ = false;
  bool leaving_ = false;
  std::uint64_t sequence_ = 0;
  std::uint64_t requests_sequence_ = 0;
  std::uint64_t attachments_ = 0;
  std::uint64_t turn_ = 0;        // number of the newest turn asked for
  std::uint64_t turn_given_ = 0;  // of the newest one given
  bool awaits_turn_ = false;
  bool parts_ = false;       // the newest frame has another one behind it
  bool knows_turns_ = true;  // the daemon of this attachment does, as far as is known
  std::chrono::milliseconds pause_ = kShortestPause;  // between two looks of the thread
  SignsOfLife signs_;
  SteadyClock::time_point heard_{};
  SteadyClock::time_point sent_{};
  SteadyClock::time_point next_hello_{};
  // Other clients that say hello at the same time draw other pauses.
  std::mt19937_64 random_{
      static_cast<std::uint64_t>(getpid()) ^
      static_cast<std::uint64_t>(SteadyClock::now().time_since_epoch().count())};
  std::thread thread_;
};

}  // namespace gearshift::client::detail
