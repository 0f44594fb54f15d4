#include "evaluation/grid_run.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

namespace gearshift {
namespace {

constexpr auto kReport = std::chrono::milliseconds(200);

struct Finished {
  std::size_t index = 0;
  Trial trial;
};

// The cases that are left, shared by the workers.
class Work {
 public:
  Work(const Grid& grid, const RunCase& run_case, std::vector<std::size_t> left, unsigned threads)
      : grid_(grid), run_case_(run_case), left_(std::move(left)), running_(threads) {
    for (unsigned i = 0; i < threads; ++i) workers_.emplace_back([this] { work(); });
  }
  ~Work() { stop_ = true; }  // the threads join after it

  void stop() { stop_ = true; }
  // Waits for a while and takes what was finished meanwhile. False: all workers have ended, and
  // nothing will follow.
  bool take(std::vector<Finished>& taken) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kReport, [this] { return running_ == 0; });
    taken.swap(finished_);
    finished_.clear();
    return running_ > 0;
  }
  void rethrow() {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work() {
    while (!stop_) {
      const std::size_t next = next_++;
      if (next >= left_.size()) break;
      try {
        Trial trial = run_case_(grid_.at(left_[next]));
        const std::scoped_lock lock(mutex_);
        finished_.push_back({left_[next], std::move(trial)});
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

  const Grid& grid_;
  const RunCase& run_case_;
  const std::vector<std::size_t> left_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Finished> finished_;
  unsigned running_ = 0;
  std::exception_ptr failure_;
  std::vector<std::jthread> workers_;  // last: it ends before what it uses
};

}  // namespace

std::vector<std::optional<Trial>> run_grid(const Grid& grid, const RunCase& run_case,
                                           TrialFile* file, GridWatch& watch, unsigned threads) {
  std::vector<std::optional<Trial>> trials(grid.size());
  std::vector<std::size_t> left;
  const CaseKeys keys(grid);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Trial* known = file == nullptr ? nullptr : file->find(keys.key(grid.at(i)));
    if (known != nullptr) {
      trials[i] = *known;
    } else {
      left.push_back(i);
    }
  }
  const std::size_t known = trials.size() - left.size();
  std::size_t done = known;
  Work work(grid, run_case, std::move(left), threads);
  std::vector<Finished> finished;
  for (bool more = true; more;) {
    more = work.take(finished);
    std::string lines;
    for (Finished& one : finished) {
      if (file != nullptr) lines += format_trial(keys.key(grid.at(one.index)), one.trial) + '\n';
      trials[one.index] = std::move(one.trial);
    }
    if (file != nullptr) file->append(lines);
    done += finished.size();
    finished.clear();
    watch.progress(done, known, trials.size());
    if (watch.stopped()) work.stop();
  }
  work.rethrow();
  return trials;
}

}  // namespace gearshift
