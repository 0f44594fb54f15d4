// Minibatches that took so much longer than usual that the machine did something else meanwhile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "controller/clock.h"
#include "controller/event.h"
#include "controller/recent_minibatches.h"

namespace gearshift {

class Stalls {
 public:
  // A minibatch of more than so many times what is usual has stalled.
  static constexpr int kTimes = 2;
  // Before so many of a kind have ended, nothing is usual.
  static constexpr std::size_t kFewest = 8;

  // Another setting is in force from now on, in which other times are usual.
  void begin() { *this = {}; }
  // One that ran in the setting in force; those of a kind in the order in which they ended.
  void add(const Minibatch& minibatch);
  // Whether the report's requests would have been answered within `limit` without the stalls that
  // they may have waited for: those up to a limit before the report begins.
  bool explain(const RequestReport& report, Duration limit) const;

 private:
  static constexpr std::size_t kRecent = 32;
  static constexpr std::size_t kKept = 8;
  using Recent = RecentMinibatches<kRecent>;
  struct Stall {
    Time ended{};
    Duration longer{};  // than usual
  };
  // The median of the recent ones, and longer by the samples where the median has fewer.
  static Duration usual(const Recent& recent, std::int32_t batch_size);

  std::array<Recent, kKinds> recent_{};
  std::array<Stall, kKept> stalls_{};
  std::size_t stall_count_ = 0;
};

}  // namespace gearshift
