// When requests come in a simulation: by chance around a rate that may change, or as recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "controller/clock.h"

namespace gearshift {

enum class ArrivalPattern : std::uint8_t {
  poisson,  // independent of each other, at one rate
  mmpp,     // the same, at one of two rates by turns: a Markov-modulated Poisson process
  day,      // the same, at a rate that follows a cosine over the period, lowest at its beginning
  trace,    // with the gaps of a recording, scaled to the rate, again and again
};

// For so long requests come `factor` times as fast.
struct Burst {
  double factor = 1;
  Time begin{};
  Duration length{};
};

struct ArrivalSpec {
  ArrivalPattern pattern = ArrivalPattern::poisson;
  double rate_per_s = 0;          // the mean; the lower or lowest of mmpp and day. May be 0
  double highest_rate_per_s = 0;  // mmpp and day
  Duration period{};              // mmpp: mean stay at a rate; day: of the cosine. Above 0 there
  std::vector<Duration> times{};  // trace: at least two, not all equal, none before the one ahead
  std::vector<Burst> bursts{};    // where two overlap, their factors multiply

  // Of a long run without bursts.
  double mean_rate_per_s() const;
  // The highest rate of any time, bursts included.
  double peak_rate_per_s() const;
  // How many come in so long from the beginning, in the mean, bursts included.
  double mean_requests(Duration span) const;
};

// A value: copies go on from the same place. All chance is a hash of the seed and a counter.
class Arrivals {
 public:
  // A trace begins at a place that the seed chooses. `spec` outlives the arrivals.
  Arrivals(const ArrivalSpec& spec, std::uint64_t seed);

  // The next request's; Time::max() where none ever comes.
  Time next() const { return next_; }
  void pop();

 private:
  double work();         // until the next request, in mean gaps
  void enter_segment();  // of constant rate, that begins now
  double base_rate();    // of the segment, and sets its end

  const ArrivalSpec* spec_;
  std::uint64_t seed_;
  std::uint64_t index_ = 0;  // of the next request
  std::uint64_t stay_ = 0;   // mmpp: how often the rate has changed
  double stay_end_s_ = 0;    // mmpp
  double mean_gap_ns_ = 0;   // of the trace
  double now_s_ = 0;         // of the newest request, or of the segment's beginning
  double rate_per_s_ = 0;    // of the segment
  double segment_end_s_ = 0;
  Time next_{};
};

}  // namespace gearshift
