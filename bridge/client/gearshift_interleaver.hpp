// Trains and serves on one accelerator in one process: one minibatch at a time, requests before all
// else.
//
//   gearshift::client::Interleaver<Image, int> interleaver(
//       {.name = "lenet", .latency = 100ms, .batch_size = 4, .batch_sizes = {1, 4, 16}},
//       [&] { train_one(); return true; },                      // false: training is over
//       [&](const std::vector<Image>& images) { return answer(images); });
//   std::thread server([&] { serve([&](Image image) { return interleaver.submit(image); }); });
//   interleaver.run([] { return false; });                      // until told to stop
//
// The next minibatch is a training one unless requests are due: the rule is that of
// controller/interleaving.h, by the times measured here. A request is refused at its arrival where
// those before it make it late, and dropped where it is late when its turn comes; both count as
// late. It attaches to the daemon twice, as a trainer and as a server, and needs none.
// Requests that do not fit in memory at once are answered in smaller batches of those offered.
//
// Requests come from other threads, so it has a lock; reads the steady clock, to time minibatches.
#pragma once

#include <chrono>
#include <condition_variable>
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
#include "bridge/client/gearshift_memory.hpp"
#include "bridge/client/gearshift_requests.hpp"
#include "bridge/client/gearshift_service_times.hpp"
#include "controller/interleaving.h"

namespace gearshift::client {

// A request that got no answer: refused when it came, or dropped when it was late.
struct RequestNotServed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct InterleaverOptions {
  std::string name;                       // of the work
  std::string infer_name;                 // of the served model; empty: the same
  std::chrono::nanoseconds latency{0};    // a request's, from submit() to its answer; 0: no limit
  std::int32_t batch_size = 1;            // requests in an inference minibatch at most
  std::vector<std::int32_t> batch_sizes;  // that gearshift may choose from
  std::int32_t train_batch_size = 1;      // samples
  std::int64_t samples_per_epoch = 0;     // of training; 0: unknown
  std::string endpoint;                   // as Options::endpoint
};

template <typename Request, typename Answer>
class Interleaver {
 public:
  using Train = std::function<bool()>;
  using Infer = std::function<std::vector<Answer>(const std::vector<Request>&)>;

  // Throws std::invalid_argument as Workload does.
  Interleaver(InterleaverOptions options, Train train, Infer infer)
      : options_(std::move(options)),
        train_(std::move(train)),
        infer_(std::move(infer)),
        trainer_({.name = options_.name,
                  .kind = Kind::train,
                  .batch_size = options_.train_batch_size,
                  .batch_sizes = {},
                  .samples_per_epoch = options_.samples_per_epoch,
                  .endpoint = options_.endpoint}),
        server_({.name = options_.infer_name.empty() ? options_.name : options_.infer_name,
                 .kind = Kind::infer,
                 .batch_size = options_.batch_size,
                 .batch_sizes = options_.batch_sizes,
                 .samples_per_epoch = 0,
                 .endpoint = options_.endpoint,
                 .latency = options_.latency}),
        sizes_(options_.batch_sizes.empty() ? std::vector{options_.batch_size}
                                            : options_.batch_sizes),
        shut_(options_.latency),
        infer_times_(sizes_),
        log_(options_.latency, now()),
        batch_size_(options_.batch_size) {}

  // Drops what waits.
  ~Interleaver() {
    for (Entry& entry : queue_) fail(entry, "dropped: the server closed before its turn came");
  }
  Interleaver(const Interleaver&) = delete;
  Interleaver& operator=(const Interleaver&) = delete;

  // From any thread. The future holds the answer, or throws RequestNotServed.
  std::future<Answer> submit(Request request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Entry entry{now(), std::move(request), {}};
    std::future<Answer> future = entry.promise.get_future();
    log_.arrived();
    newest_ = entry.arrived;
    arrivals_.add(entry.arrived);
    InterleavingState state = state_of(entry.arrived, true, true);
    state.infer_minibatch = infer_times_.estimate(most_of_a_batch(queue_.size() + 1));
    const auto under_way = std::max(busy_until_ - entry.arrived, std::chrono::nanoseconds(0));
    if (failed_) {
      log_.refused();
      fail(entry, kFailed);
    } else if (queue_.size() < kMostQueued && admits(state, under_way)) {
      queue_.push_back(std::move(entry));
    } else {
      log_.refused();
      fail(entry, "refused: " + std::to_string(queue_.size()) + " requests wait before it");
    }
    news_.notify_one();
    return future;
  }

  // Runs minibatches in this thread until `stop` says so, which is asked between two. Goes on
  // serving when training is over. What training throws ends it: requests that wait, and those that
  // come until it is called again, are not served.
  template <typename Stop>
  void run(Stop stop) {
    set_failed(false);
    try {
      while (!stop()) step();
    } catch (...) {
      set_failed(true);
      throw;
    }
  }

  // Runs the minibatch that is next, or waits for one, a fifth of a second at most.
  Turn step() {
    const bool trains = follow(trainer_) && training_;
    const bool infers = follow(server_);
    TurnChoice choice;
    std::optional<RequestCounts> counts;
    InterleavingState state;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      batch_size_ = server_.wanted().batch_size;
      const std::chrono::nanoseconds began = now();
      state = state_of(began, trains, infers);
      choice = next_turn(state);
      judge_patience(state, choice.turn, began);
      counts = log_.take_due(began, queue_.size());
      if (choice.turn == Turn::wait && !counts) {
        news_.wait_for(lock, std::min(choice.longest_wait, kLongestWait));
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
  // The two attachments: whether a daemon knows them, and what it said for people.
  Workload& trainer() { return trainer_; }
  Workload& server() { return server_; }

 private:
  struct Entry {
    std::chrono::nanoseconds arrived{0};
    Request request;
    std::promise<Answer> promise;
  };
  static constexpr std::size_t kMostQueued = 65536;
  static constexpr std::chrono::nanoseconds kLongestWait = std::chrono::milliseconds(200);
  static constexpr int kMinibatchesOfTrust = 8;
  static constexpr const char* kFailed = "dropped: training ended run() by an exception";

  static std::chrono::nanoseconds now() {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
  static void fail(Entry& entry, const std::string& why) {
    entry.promise.set_exception(std::make_exception_ptr(RequestNotServed(why)));
  }

  void set_failed(bool failed) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failed_ = failed;
    if (!failed) return;
    for (Entry& entry : queue_) {
      log_.refused();
      fail(entry, kFailed);
    }
    queue_.clear();
  }

  // Puts in force what the daemon asks for; whether the kind runs. Nothing is prefetched, so the
  // next minibatch to begin is the first to follow it.
  bool follow(Workload& workload) {
    if (workload.poll()) {
      workload.applied();
      const std::lock_guard<std::mutex> lock(mutex_);
      shut_.try_again(infer_times_);
      if (kept_.waits()) {
        train_times_.restart();  // in another mode training may well fit: it is tried once
        kept_.restart();
      }
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
    return state;
  }

  // Training that waits takes no times, so one slow minibatch could stop it for good: the longest
  // is forgotten after a second, the next after two, and so on.
  void judge_patience(const InterleavingState& state, Turn turn, std::chrono::nanoseconds at) {
    server_.tell(shut_.judge(infer_times_, batch_size_, at, infer_minibatches_));
    if (turn == Turn::train) {
      kept_.end();
      if (++in_a_row_ == kMinibatchesOfTrust) kept_.restart();
      return;
    }
    if (!state.trains || training_fits(state)) return;
    in_a_row_ = 0;
    if (kept_.over(at)) {
      train_times_.forget_largest();
      infer_times_.forget_largest(planned_for(at, state.trains));
    }
  }

  void run_train() {
    const std::chrono::nanoseconds began = now();
    if (!train_()) {
      training_ = false;
      trainer_.leave();  // a setting that is searched for training would be none's
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
    trainer_.minibatch(static_cast<std::uint32_t>(epoch), elapsed, {}, elapsed);
  }

  // As many as wait, or fewer where the oldest would be late with them and the rest is not without
  // it.
  std::int32_t size_to_serve(std::chrono::nanoseconds at) const {
    const std::int32_t size = most_of_a_batch(queue_.size());
    if (options_.latency.count() <= 0 || size == 0 || size >= batch_size_) return size;
    const auto left = queue_.front().arrived + options_.latency - at;
    const std::int32_t fewer = infer_times_.most_within(size, left);
    if (fewer == size) return size;
    const auto rest = at - queue_[static_cast<std::size_t>(fewer)].arrived +
                      infer_times_.estimate(fewer) + infer_times_.estimate(size - fewer);
    return rest <= options_.latency ? fewer : size;
  }

  // Requests to answer; those that are late for certain are dropped.
  std::vector<Entry> take_batch() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::chrono::nanoseconds at = now();
    const std::int32_t size = size_to_serve(at);
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
      fail(entry, "dropped: it would be answered later than its latency");
    }
    return batch;
  }

  // So many did not fit in memory: they wait again, before all others, for a smaller batch. False
  // where none is offered.
  bool serve_fewer(std::vector<Entry>& batch, std::vector<Request>& requests) {
    const auto failed = static_cast<std::int32_t>(batch.size());
    const auto fits = detail::size_that_fits(sizes_, failed, most_answered_);
    if (!fits) return false;
    server_.out_of_memory(*fits, std::to_string(failed) +
                                     " requests at once do not fit in memory, " +
                                     std::to_string(*fits) + " are answered at most");
    const std::lock_guard<std::mutex> lock(mutex_);
    batch_size_ = *fits;
    for (std::size_t i = batch.size(); i-- > 0;) {
      batch[i].request = std::move(requests[i]);
      queue_.push_front(std::move(batch[i]));
    }
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
        failure ? log_.refused() : log_.answered(ended - entry.arrived);
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
  Workload trainer_;
  Workload server_;
  bool training_ = true;
  std::int64_t train_minibatches_ = 0;
  std::int64_t infer_minibatches_ = 0;
  Patience kept_;     // of training that waits because its minibatch is too long
  int in_a_row_ = 0;  // training minibatches since it last waited
  const std::vector<std::int32_t> sizes_;  // of batches, offered
  std::int32_t most_answered_ = 0;         // requests at once

  std::mutex mutex_;  // guards all below
  std::condition_variable news_;
  ShutOut shut_;
  ServiceTimes train_times_;
  BatchTimes infer_times_;
  std::deque<Entry> queue_;
  bool failed_ = false;  // run() ended by an exception
  RequestLog log_;
  std::int32_t batch_size_;
  Arrivals arrivals_;
  std::optional<std::chrono::nanoseconds> newest_;  // arrival of the newest request
  std::chrono::nanoseconds busy_until_{0};          // when the minibatch that runs will have ended
};

}  // namespace gearshift::client
