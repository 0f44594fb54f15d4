// Runs the cases of an evaluation on several threads.
//
// Threads, because an evaluation has thousands of cases that know nothing of each other, and each
// takes milliseconds to minutes of one core. All files are written by the calling thread.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace gearshift {

// Told how far an evaluation is, several times a second, on the calling thread.
class CaseWatch {
 public:
  virtual ~CaseWatch() = default;
  // `known` of the `done` cases were known before.
  virtual void progress(std::size_t done, std::size_t known, std::size_t total) = 0;
  // True: end soon; cases that have begun are finished and kept.
  virtual bool stopped() = 0;
};

// Calls `run` with each of the numbers, on `threads` threads at a time, and several times a second
// `ended` on the calling thread, with the numbers whose calls have returned since; nothing begins
// any more once that returns false. Throws what `run` throws, after the other threads have ended.
void run_cases(const std::vector<std::size_t>& numbers, const std::function<void(std::size_t)>& run,
               const std::function<bool(const std::vector<std::size_t>&)>& ended, unsigned threads);

}  // namespace gearshift
