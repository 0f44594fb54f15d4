// Trains and serves on one accelerator in one process: one minibatch at a time, requests before all
// else.
//
//   gearshift::client::Interleaver<Image, int> interleaver(
//       {.name = "lenet", .latency = 100ms, .batch_size = 4, .batch_sizes = {1, 4, 16}},
//       [&] { train_one(); return true; },                      // false: training is over
//       [&](const std::vector<Image>& images) { return answer(images); });
//   std::thread server([&] { serve([&](Image image) { return interleaver.submit(image); }); });
//   interleaver.run([&] { return stopped.load(); });            // until told to stop
//   interleaver.close();  // before joining threads that wait for answers: they get none any more
//   server.join();
//
// The next minibatch is a training one unless requests are due: the rule is that of
// controller/interleaving.h, by the times measured here. A request is refused at its arrival where
// those before it make it late, and dropped where it is late when its turn comes; both count as
// late. It attaches to the daemon twice, as a trainer and as a server, and needs none. Requests
// that do not fit in memory at once are answered in smaller batches of those offered. It takes no
// turns with other programs, as the Python client's does if told to (`turns`): that is HeldTurn's.
//
// Requests come from other threads, so it has a lock; reads the steady clock, to time minibatches.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bridge/client/gearshift.hpp"
#include "bridge/client/gearshift_interleaver_options.hpp"
#include "bridge/client/gearshift_memory.hpp"
#include "bridge/client/gearshift_news.hpp"
#include "bridge/client/gearshift_requests.hpp"
#include "bridge/client/gearshift_service_times.hpp"
#include "controller/interleaving.h"

namespace gearshift::client {

template <typename Request, typename Answer>
class Interleaver {
 public:
  using Train = std::function<bool()>;
  using Infer = std::function<std::vector<Answer>(const std::vector<Request>&)>;

  // An empty `train` trains nothing: it is then no trainer to the daemon. Throws
  // std::invalid_argument as Workload does, and where `infer` is empty.
  Interleaver(InterleaverOptions options, Train train, Infer infer)
      : options_(detail::checked(std::move(options), static_cast<bool>(infer))),
        train_(std::move(train)),
        infer_(std::move(infer)),
        server_(detail::server_of(options_, !train_)),
        sizes_(options_.batch_sizes.empty() ? std::vector{options_.batch_size}
                                            : options_.batch_sizes),
        shut_(options_.latency),
        infer_times_(sizes_),
        log_(options_.latency, now()),
        batch_size_(options_.batch_size) {
    if (train_) trainer_.emplace(detail::trainer_of(options_));
  }

  // As close(), but for the lock, which in a forked child may be another thread's for good: no
  // other thread may be in a call.
  ~Interleaver() {
    fail_all(kClosed);
    tell_rest();
  }
  Interleaver(const Interleaver&) = delete;
  Interleaver& operator=(const Interleaver&) = delete;

  // From any thread. The future holds the answer, or throws RequestNotServed. Where run() is not
  // called again it does neither until close().
  std::future<Answer> submit(Request request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Entry entry{now(), std::move(request), {}};
    std::future<Answer> future = entry.promise.get_future();
    if (closed_ || failed_) {
      fail(entry, closed_ ? "dropped: the server is closed" : kFailed);
      return future;
    }
    log_.arrived();
    newest_ = entry.arrived;
    arrivals_.add(entry.arrived);
    InterleavingState state = state_of(entry.arrived, true, true);
    const std::int32_t size = most_of_a_batch(queue_.size() + 1);
    state.infer_minibatch = infer_times_.estimate(size);
    const auto under_way = std::max(busy_until_ - entry.arrived, std::chrono::nanoseconds(0));
    if (queue_.size() < detail::kMostQueued && admits(state, under_way)) {
      queue_.push_back(std::move(entry));
    } else {
      log_.refused();
      fail(entry, detail::refusal(queue_.size(), size, state.infer_minibatch, options_.latency));
    }
    news_.notify_one();
    return future;
  }

  // Runs minibatches in this thread until `stop` says so, which is asked between two, or close() is
  // called. Goes on serving when training is over. Requests that wait when `stop` ended it wait for
  // the next run(). What training throws ends it: requests that wait, and those that come until it
  // is called again, are not served.
  template <typename Stop>
  void run(Stop stop) {
    set_failed(false);
    try {
      while (!closed() && !stop()) step();
    } catch (...) {
      set_failed(true);
      throw;
    }
  }

  // From any thread: says bye to the daemon, and fails what waits and what comes. run() returns
  // after the minibatch under way. To be called before joining threads that wait for answers.
  void close() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      closed_ = true;
      fail_all(kClosed);
      tell_rest();
      news_.notify_all();
    }
    server_.leave();
    if (trainer_) trainer_->leave();
  }

  // Runs the minibatch that is next, or waits for one, a fifth of a second at most.
  Turn step() {
    const bool trains = trainer_ && follow(*trainer_) && training_;
    const bool infers = follow(server_);
    TurnChoice choice;
    std::optional<RequestCounts> counts;
    InterleavingState state;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      const std::chrono::nanoseconds began = now();
      if (!infers) drop_late(began);
      state = state_of(began, trains, infers);
      choice = next_turn(state);
      server_.tell(shut_.judge(infer_times_, batch_size_, began, infer_minibatches_));
      if (kept_.judge(state, choice.turn, began)) {
        const std::int32_t planned = planned_for(began, trains);
        train_times_.forget_largest();
        infer_times_.forget_largest(planned);
      }
      counts = log_.take_due(began, queue_.size());
      if (choice.turn == Turn::wait && !counts && !closed_) {
        const auto longest = longest_wait(choice, queue_.size(), log_.next_due() - began);
        news_.wait_for(lock, longest);
        oversleeping_.add(now() - began - longest);
      }
      busy_until_ = now();
      if (choice.turn == Turn::train) busy_until_ += state.train_minibatch;
      if (choice.turn == Turn::infer) {
        busy_until_ += infer_times_.estimate(most_of_a_batch(queue_.size()));
      }
    }
    if (counts) server_.requests(*counts);
    if (choice.turn == Turn::train) run_train();
    if (choice.turn == Turn::infer) run_infer();
    return choice.turn;
  }

  std::int64_t train_minibatches() const { return train_minibatches_; }
  std::int64_t infer_minibatches() const { return infer_minibatches_; }
  // The two attachments: whether a daemon knows them, and what it said for people. The trainer's
  // throws std::bad_optional_access where nothing is trained.
  Workload& trainer() { return trainer_.value(); }
  Workload& server() { return server_; }

 private:
  struct Entry {
    std::chrono::nanoseconds arrived{0};
    Request request;
    std::promise<Answer> promise;
  };
  static constexpr const char* kFailed = "dropped: training ended run() by an exception";
  static constexpr const char* kClosed = "dropped: the server closed before its turn came";

  static std::chrono::nanoseconds now() {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
  static void fail(Entry& entry, const std::string& why) {
    entry.promise.set_exception(std::make_exception_ptr(RequestNotServed(why)));
  }

  void fail_all(const std::string& why) {
    for (Entry& entry : queue_) {
      log_.ended(now() - entry.arrived);
      fail(entry, why);
    }
    queue_.clear();
  }

  // All that the daemon has not heard of.
  void tell_rest() {
    if (const auto counts = log_.take_rest(now())) server_.requests(*counts);
  }

  void set_failed(bool failed) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failed_ = failed;
    if (!failed) return;
    fail_all(kFailed);
    tell_rest();
  }

  bool closed() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return closed_;
  }

  // Puts in force what the daemon asks for; whether the kind runs. Nothing is prefetched, so the
  // next minibatch to begin is the first to follow it.
  bool follow(Workload& workload) {
    if (workload.poll()) {
      workload.applied();
      const std::lock_guard<std::mutex> lock(mutex_);
      if (&workload == &server_) batch_size_ = server_.wanted().batch_size;
      shut_.try_again(infer_times_);
      // In another mode training may well fit: it is tried once.
      if (kept_.try_again()) train_times_.restart();
    }
    return workload.runs();
  }

  std::int32_t most_of_a_batch(std::size_t requests) const {
    return static_cast<std::int32_t>(
        std::min(requests, static_cast<std::size_t>(std::max(batch_size_, 1))));
  }
  // How many requests an inference minibatch is planned to answer: those that wait and those that
  // may come meanwhile, at least the next one: it ends the wait, and what is due is then asked
  // anew.
  std::int32_t planned_for(std::chrono::nanoseconds at, bool trains) const {
    const auto meanwhile = trains ? train_times_.estimate() : std::chrono::nanoseconds(0);
    const std::int32_t coming = arrivals_.most_within(meanwhile, at, batch_size_);
    return most_of_a_batch(queue_.size() + static_cast<std::size_t>(coming));
  }

  InterleavingState state_of(std::chrono::nanoseconds at, bool trains, bool infers) const {
    InterleavingState state;
    state.queued = static_cast<std::uint32_t>(queue_.size());
    if (!queue_.empty()) state.oldest_wait = at - queue_.front().arrived;
    state.since_arrival = newest_ ? at - *newest_ : std::chrono::nanoseconds::max();
    state.batch_size = batch_size_;
    state.latency = options_.latency;
    state.train_minibatch = train_times_.estimate();
    state.infer_minibatch = infer_times_.planned(planned_for(at, trains), options_.latency);
    state.trains = trains;
    state.infers = infers;
    state.oversleeps = oversleeping_.most();
    state.size_is_chosen = server_.wanted().set != 0;
    return state;
  }

  void run_train() {
    const std::chrono::nanoseconds began = now();
    if (!train_()) {
      training_ = false;
      trainer_->leave();  // a setting that is searched for training would be none's
      return;
    }
    const std::chrono::nanoseconds elapsed = now() - began;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      train_times_.add(elapsed);
    }
    const std::int64_t seen = train_minibatches_++ * options_.train_batch_size;
    const std::int64_t epoch =
        options_.samples_per_epoch > 0 ? seen / options_.samples_per_epoch : 0;
    trainer_->minibatch(static_cast<std::uint32_t>(epoch), elapsed, {}, elapsed);
  }

  // While the daemon lets requests wait nothing else ends those that are late.
  void drop_late(std::chrono::nanoseconds at) {
    if (options_.latency <= std::chrono::nanoseconds(0)) return;
    for (; !queue_.empty() && at - queue_.front().arrived > options_.latency; queue_.pop_front()) {
      log_.refused();
      fail(queue_.front(), detail::lateness(at - queue_.front().arrived, options_.latency));
    }
  }

  // Requests to answer; those that are late for certain are dropped.
  std::vector<Entry> take_batch() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::chrono::nanoseconds at = now();
    const std::int32_t size = size_to_serve(
        infer_times_, most_of_a_batch(queue_.size()), batch_size_, options_.latency,
        [&](std::int32_t i) { return at - queue_[static_cast<std::size_t>(i)].arrived; });
    InterleavingState state;
    state.latency = options_.latency;
    state.infer_minibatch = infer_times_.estimate(size);
    std::vector<Entry> batch;
    while (!queue_.empty() && batch.size() < static_cast<std::size_t>(size)) {
      Entry entry = std::move(queue_.front());
      queue_.pop_front();
      if (serves(state, at - entry.arrived)) {
        batch.push_back(std::move(entry));
        continue;
      }
      log_.refused();
      fail(entry, detail::lateness(at - entry.arrived, options_.latency));
    }
    return batch;
  }

  // So many did not fit in memory: they wait again, before all others, for a smaller batch. False
  // where none is offered, or nobody waits any more.
  bool serve_fewer(std::vector<Entry>& batch, std::vector<Request>& requests) {
    const auto failed = static_cast<std::int32_t>(batch.size());
    const auto fits = detail::size_that_fits(sizes_, failed, most_answered_);
    if (!fits) return false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (closed_) return false;
      batch_size_ = *fits;
      for (std::size_t i = batch.size(); i-- > 0;) {
        batch[i].request = std::move(requests[i]);
        queue_.push_front(std::move(batch[i]));
      }
    }
    server_.out_of_memory(*fits, std::to_string(failed) +
                                     " requests at once do not fit in memory, " +
                                     std::to_string(*fits) + " are answered at most");
    return true;
  }

  void run_infer() {
    std::vector<Entry> batch = take_batch();
    if (batch.empty()) return;
    std::vector<Request> requests;
    requests.reserve(batch.size());
    for (Entry& entry : batch) requests.push_back(std::move(entry.request));
    const std::chrono::nanoseconds began = now();
    std::vector<Answer> answers;
    std::exception_ptr failure;
    try {
      answers = infer_(requests);
      if (answers.size() != batch.size()) {
        throw std::length_error("infer gave " + std::to_string(answers.size()) + " answers to " +
                                std::to_string(batch.size()) + " requests");
      }
    } catch (...) {
      failure = std::current_exception();  // thrown again by the futures of its requests
    }
    const std::chrono::nanoseconds ended = now();
    const auto size = static_cast<std::int32_t>(batch.size());
    ++infer_minibatches_;
    if (failure && detail::is_out_of_memory(failure) && serve_fewer(batch, requests)) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!failure) infer_times_.add(size, ended - began);
      for (const Entry& entry : batch) {
        failure ? log_.ended(ended - entry.arrived) : log_.answered(ended - entry.arrived);
      }
    }
    if (!failure) server_.minibatch(0, ended - began, {}, ended - began, size);
    if (!failure) most_answered_ = std::max(most_answered_, size);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      failure ? batch[i].promise.set_exception(failure)
              : batch[i].promise.set_value(std::move(answers[i]));
    }
  }

  const InterleaverOptions options_;
  Train train_;
  Infer infer_;
  Workload server_;
  std::optional<Workload> trainer_;  // where something is trained
  bool training_ = true;
  std::int64_t train_minibatches_ = 0;
  std::int64_t infer_minibatches_ = 0;
  KeptOut kept_;
  const std::vector<std::int32_t> sizes_;  // of batches, offered
  std::int32_t most_answered_ = 0;         // requests at once

  std::mutex mutex_;  // guards all below
  detail::News news_;
  ShutOut shut_;
  ServiceTimes train_times_;
  BatchTimes infer_times_;
  std::deque<Entry> queue_;
  bool closed_ = false;
  bool failed_ = false;  // run() ended by an exception
  RequestLog log_;
  std::int32_t batch_size_;
  Arrivals arrivals_;
  Oversleeping oversleeping_;
  std::optional<std::chrono::nanoseconds> newest_;  // arrival of the newest request
  std::chrono::nanoseconds busy_until_{0};          // when the minibatch that runs will have ended
};

}  // namespace gearshift::client
