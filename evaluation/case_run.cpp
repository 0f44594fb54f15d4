#include "evaluation/case_run.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace gearshift {
namespace {

constexpr auto kReport = std::chrono::milliseconds(200);

// The cases that are left, shared by the workers.
class Work {
 public:
  Work(const std::vector<std::size_t>& numbers, const std::function<void(std::size_t)>& run,
       unsigned threads)
      : numbers_(numbers), run_(run), running_(threads) {
    for (unsigned i = 0; i < threads; ++i) workers_.emplace_back([this] { work(); });
  }
  ~Work() { stop_ = true; }  // the threads join after it

  void stop() { stop_ = true; }
  // Waits for a while and takes what has ended meanwhile. False: all workers have, and nothing will
  // follow.
  bool take(std::vector<std::size_t>& taken) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kReport, [this] { return running_ == 0; });
    taken.swap(ended_);
    ended_.clear();
    return running_ > 0;
  }
  void rethrow() {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work() {
    while (!stop_) {
      const std::size_t next = next_++;
      if (next >= numbers_.size()) break;
      try {
        run_(numbers_[next]);
        const std::scoped_lock lock(mutex_);
        ended_.push_back(numbers_[next]);
      } catch (...) {
        const std::scoped_lock lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        stop_ = true;
      }
    }
    const std::scoped_lock lock(mutex_);
    --running_;
    changed_.notify_one();
  }

  const std::vector<std::size_t>& numbers_;
  const std::function<void(std::size_t)>& run_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> ended_;
  unsigned running_ = 0;
  std::exception_ptr failure_;
  std::vector<std::jthread> workers_;  // last: it ends before what it uses
};

}  // namespace

void run_cases(const std::vector<std::size_t>& numbers, const std::function<void(std::size_t)>& run,
               const std::function<bool(const std::vector<std::size_t>&)>& ended,
               unsigned threads) {
  Work work(numbers, run, threads);
  std::vector<std::size_t> taken;
  for (bool more = true; more;) {
    more = work.take(taken);
    if (!ended(taken)) work.stop();
    taken.clear();
  }
  work.rethrow();
}

}  // namespace gearshift
