// Decides when the cost of a setting is known: fed minibatches and readings, answers once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "controller/clock.h"
#include "controller/event.h"
#include "controller/minibatch_times.h"
#include "controller/moments.h"
#include "controller/observation.h"
#include "controller/power_window.h"
#include "controller/setting.h"

namespace gearshift {

struct MeterOptions {
  std::uint32_t least_minibatches = 3;
  std::uint32_t most_minibatches = 40;
  double confidence = 0.02;        // relative half-width of the 95 % interval of the mean time;
                                   // wider for a kind that takes little of the time
  double settle_tolerance = 0.03;  // power has settled when two adjacent windows differ by no more
  Duration settle_most = std::chrono::seconds(6);
  Duration power_least = std::chrono::milliseconds(1200);  // of settled readings
  // From `work began` to the answer, and without a minibatch until it is stalled: both at least,
  // and more for a workload whose minibatches take long (MinibatchTimes) or come rarely
  // (Expected::comes_every).
  Duration most_time = std::chrono::seconds(30);
  Duration stall_after = std::chrono::seconds(20);
  Duration first_minibatch_most = std::chrono::seconds(150);  // the framework's own warm-up
};

// The minibatches that count for one kind.
struct Expected {
  bool runs = false;
  bool warm = false;               // has reported a minibatch before
  std::uint32_t set_sequence = 0;  // of the set command that must be in force
  MinibatchTimes times{};          // of those before
  Duration comes_every{};  // a batch of requests, at the rate of arrivals; 0: unknown, or at once
};

// Work begins when the setting is applied, or with the first minibatch of a workload that is not
// warm yet: a framework that compiles for a minute must not use up the measurement's time.
// Settling follows the sliding window of PowerTrain (section 2.5): power takes 2 to 3 s to settle
// after a mode change, and the first minibatch is dropped.
class Meter {
 public:
  static constexpr std::uint32_t kMostSamples = 64;
  // Training without a minibatch for so long, beside requests, counts as not run; but not before
  // twice the time that one may well take.
  static constexpr Duration kStarvedAfter = std::chrono::seconds(5);
  // Requests that come no more often than this are few in any measurement: one batch of them that
  // began in the setting is enough, since they take next to nothing of the time.
  static constexpr Duration kRare = std::chrono::seconds(5);
  static constexpr double kScatters = 10;
  static constexpr std::uint32_t kFewest = 8;

  // Whether the minibatch is one of the setting's batch size: a batch of requests that would not
  // wait counts where it is at least half full, at its time of a sample.
  static bool counts(const Minibatch& minibatch, const Setting& setting);

  // Holds at most kMostSamples minibatches, whatever the options say. The last two are what
  // BoardTraits says of readings.
  Meter(MeterOptions options, Duration power_window, std::int64_t power_rounding_mw = 0,
        bool power_counts = false);

  void begin(const Setting& setting, const std::array<Expected, kKinds>& expected, Time applied);
  void add(const Minibatch& minibatch);
  // A power reading whose state is ok.
  void add(const Reading& reading);
  // The observation, once it is stable or has taken its time (outcome stalled). `duration` is left
  // to the caller. Nullopt while the measurement goes on.
  std::optional<Observation> answer(Time now) const;
  // Whether the times of a kind differ so much that one or two of its minibatches make the mean:
  // the interval is more than kScatters times as wide as it should be, after kFewest of them.
  bool scatters(Time now) const;
  // What minibatches that began in the setting have taken so far, whether its power has settled or
  // not: all that is known of a measurement that is cut short. Mean, deviation and number alone.
  std::array<Cost, kKinds> so_far() const;

 private:
  struct Samples {
    std::uint32_t seen = 0;   // matching minibatches, dropped ones too
    std::uint32_t count = 0;  // kept in `elapsed`: the first ones, most_minibatches at most
    Moments whole_ns;         // that began in the setting
    Moments total_ns;         // that counted
    Duration total_elapsed{};
    std::array<Duration, kMostSamples> elapsed{};
    Duration fetch_stall{};  // sums
    Duration compute{};
    Time last{};
  };
  void judge_settled(Time now);
  Cost cost(const Samples& samples) const;
  bool interleaves() const;  // minibatches of both kinds have counted
  void add_to_half(const Reading& reading);
  double window_deviation() const;
  double power_deviation() const;
  double hidden_mw(double deviation_mw) const;
  double half_width(const Samples& samples) const;
  bool starved(std::size_t kind, Time now) const;
  bool rare(std::size_t kind) const;
  std::uint32_t least(std::size_t kind) const;
  double tolerance(std::size_t kind, Time now) const;
  bool stalled(Time now) const;
  Duration most_time() const;

  MeterOptions options_;
  Duration window_length_;
  std::int64_t rounding_mw_;
  bool power_counts_;
  PowerWindow window_;
  Setting setting_;
  std::array<Expected, kKinds> expected_{};
  Time applied_{};
  Time work_began_{};
  std::optional<Time> settled_;
  std::array<Samples, kKinds> samples_{};

  Moments power_mw_;  // settled readings
  // Of the means of a window, which the guard judges, from the first whole one.
  Moments windows_mw_;
  // Of the means of half a window each, one after the other, and the one that goes on.
  Moments halves_mw_;
  Moments half_mw_;
  Time half_began_{};
  std::int64_t power_max_ = 0;
  Time power_first_{};
  Time power_last_{};
  bool estimate_ = false;
};

}  // namespace gearshift
