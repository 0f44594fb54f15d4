// Has the world changed: a change-point test on every repeat of a setting that is known.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "controller/observation.h"

namespace gearshift {

// What is compared with what it was; the unit is milliseconds a minibatch, or watts.
enum class DriftQuantity : std::uint8_t { train_time, infer_time, power };
inline constexpr std::size_t kDriftQuantities = 3;
std::string_view drift_quantity_name(DriftQuantity quantity);

struct DriftOptions {
  // What repeats of an unchanged world differ by beside their own standard errors: temperature,
  // slow noise, the unlike ends of a warm-up. Relative; of a kind that takes a part of the time as
  // much more as that part is smaller: what changes in it changes all as much less.
  double time_floor = 0.02;
  double power_floor = 0.02;
  std::int64_t power_step_mw = 200;  // half a step of an INA3221 at 19 V
  // The following count in scales, the root of all those squares.
  double allowance = 1.5;               // a lasting shift up to here, 3 to 4 %, is none
  double threshold = 6;                 // of the sum
  double most_residual = 5;             // one repeat counts no more: an outlier alone alarms nobody
  std::uint32_t reference_repeats = 8;  // that the reference is the mean of
};

// Why the world is held to have changed.
struct DriftAlarm {
  Setting setting;
  DriftQuantity quantity = DriftQuantity::power;
  double expected = 0;  // of the setting, ms or W
  double measured = 0;
  double statistic = 0;
  double threshold = 0;
  std::uint32_t repeats = 0;  // that the statistic was summed over: since when it is suspected

  // "power 21.3 W, expected 28.0 W (-23.9 %): statistic 7.0 of 6.0 after 2 repeats"
  std::string text() const;
};

// Two-sided cumulative sums (Page, Continuous inspection schemes, Biometrika 41, 1954) of
// log(measured / reference) over its scale, one pair a quantity, over the repeats of all settings:
// a change of the world shows in whichever is repeated. The reference of a setting is the mean of
// its first observations, as long as they are within the allowance of it; then it stays, so that
// what creeps is met too, once it has crept far enough.
//
// In an unchanged world, and by a reference that is exact, a normal residual of deviation 1 runs
// 5e8 repeats to a false alarm, one of deviation 1.25 still 6e5, by Siegmund's approximation of the
// average run length (Sequential Analysis, 1985): (exp(2 k b) - 2 k b - 1) / (2 k^2), k the
// allowance, b the threshold + 1.166. A day has up to 4e4. But a reference begins as one
// observation, and what that is off by, all its first repeats are: where observations scatter by
// 0.7 scales, so that first residuals have a deviation of 1, 0.26 % of settings alarm within 60
// repeats (20,000 drawn). A shift of 10 % alarms at the second repeat that has all of it, one of
// 8 % at the third.
class Drift {
 public:
  // At most so many settings have a reference; then all begin anew.
  static constexpr std::size_t kMostReferences = 4096;

  explicit Drift(DriftOptions options = {});

  // Only complete observations count, and none of recurring jobs, whose epochs are their own
  // measure. The first of a setting is its reference.
  std::optional<DriftAlarm> add(const Observation& observation);
  // What was seen of a setting that the guard cut: a repeat whose power is at least a window's
  // mean, and whose minibatches took what those took that ended, if they are enough to tell. It
  // tells nothing where the setting has no reference.
  std::optional<DriftAlarm> add_excess(const Observation& cut);
  bool knows(const Setting& setting) const { return references_.contains(setting); }
  // Some sum is higher than one repeat of what was expected can take away.
  bool suspects() const;
  // Nothing is known of the world any more.
  void forget();
  // Requests come at another rate: mean power is another, since it is the mean over inference and
  // what else runs, and so are the times of inference, whose batches are more or less full. The
  // next observation of a setting is the reference of both; what training takes stays known.
  void change_requests();
  // What was compared with a reference, since the beginning.
  std::uint32_t repeats() const { return repeats_; }

 private:
  struct Figure {
    double log_mean = 0;
    double variance = 0;  // of log_mean
    double share = 1;     // of the time of all minibatches
  };
  using Figures = std::array<std::optional<Figure>, kDriftQuantities>;
  struct Reference {
    Figures figures;
    std::array<std::uint32_t, kDriftQuantities> count{};
  };
  struct Sum {
    double up = 0;
    double down = 0;
    std::uint32_t up_repeats = 0;
    std::uint32_t down_repeats = 0;
  };
  struct SettingHash {
    std::size_t operator()(const Setting& setting) const { return hash(setting); }
  };

  Figures figures_of(const Observation& observation) const;
  double scale(DriftQuantity quantity, const Figure& figure, const Figure& reference) const;
  // How far the figure is from the reference, in scales.
  double residual(DriftQuantity quantity, const Figure& figure, const Figure& reference) const;
  void accumulate(DriftQuantity quantity, double residual);
  std::optional<DriftAlarm> judge(const Setting& setting, const Figures& figures,
                                  const Reference& reference) const;

  DriftOptions options_;
  std::unordered_map<Setting, Reference, SettingHash> references_;  // lookup only
  std::array<Sum, kDriftQuantities> sums_{};
  std::uint32_t repeats_ = 0;
};

}  // namespace gearshift
