// The setting that a Bayesian search should measure next: expected improvement against the odds
// that it keeps the goal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "controller/goal.h"
#include "policies/numerics/cost_process.h"

namespace gearshift {

struct ProbeTerms {
  // Natural logarithm of the goal's value of the best setting known that keeps the goal; nullopt
  // where there is none yet.
  std::optional<double> best_log{};
  double limit_w = 0;     // that mean power must keep; infinity: none
  double price = 0;       // of a probe over the limit, as an improvement (0.01 is 1 %) lost
  double least_odds = 0;  // of keeping the power limit
  // The process is taken to be so many times as unsure as it says.
  double doubt = 1;
  // Where no setting has least_odds, or the goal asks for more than the power limit and the best is
  // less than half as likely to keep all of it: the one likeliest to, if it is so likely.
  std::optional<double> safest_odds = std::nullopt;
  // Once so many settings of a batch size were over the limit it waits for the others: what is
  // wrong with what is believed of one is often wrong with all of that size.
  std::size_t most_over = std::numeric_limits<std::size_t>::max();
};

struct Probe {
  std::size_t setting = 0;
  // Expected improvement of the logarithm of the goal's value, times the odds that the goal is
  // kept, less the price of the odds that the power limit is not. Without a best: over a setting
  // that is slow.
  double gain = 0;
  double power_odds = 0;  // to keep the power limit
  double odds = 0;        // to keep the whole goal
  double minibatch_ms = 0;
  double power_w = 0;
  double time_deviation = 0;  // relative
  double power_deviation = 0;
};

// Nullopt where no setting but those of `excluded` (one entry a setting, not 0) has such odds. Of
// equals the first. Looks closely at kMostProbed settings that the process holds for good on
// average, an eighth of which are also in time on average, where so many are.
inline constexpr std::size_t kMostProbed = 400;
std::optional<Probe> next_probe(const CostProcess& process, const Goal& goal, Kind kind,
                                std::span<const std::uint8_t> excluded, const ProbeTerms& terms);

struct DrawTerms {
  double limit_w = 0;         // that mean power must keep; infinity: none
  double most_over_odds = 1;  // of going over it, by all that is believed and not by the draw alone
  double temper = 1;          // see CostProcess::draw_world
  // Log values of another world, one a setting (SmoothValues::draw): then the process draws none,
  // and says only what keeps the goal.
  std::span<const double> log_values{};
  // Natural logarithm of the goal's value that the process may expect of the setting, at most,
  // where log_values are given: measurements alone know no end of what may be good.
  double most_expected_log = std::numeric_limits<double>::infinity();
};

// For each setting whether drawn_setting() passes over it by what is believed on average: it is of
// `excluded`, over the power limit, or dearer than may be expected. So that log_values need be
// worked out of the others alone.
std::vector<std::uint8_t> passed_over(const CostProcess& process, const Goal& goal, Kind kind,
                                      std::span<const std::uint8_t> excluded,
                                      const DrawTerms& terms);

struct DrawnSetting {
  std::size_t setting = 0;
  double value = 0;       // of the goal, in the world that was drawn
  double expected = 0;    // of the goal, by all that is believed
  double deviation = 0;   // of the logarithm of the value, standard
  double power_odds = 0;  // to keep the power limit
  double odds = 0;        // to keep the whole goal
};

// Thompson sampling (Thompson 1933): the best setting of one world drawn from what is believed.
// Nullopt where no setting but those of `excluded` keeps the goal in that world and the power limit
// with the odds that are asked for. Looks at kMostProbed settings, as next_probe does.
std::optional<DrawnSetting> drawn_setting(const CostProcess& process, const Goal& goal, Kind kind,
                                          std::span<const std::uint8_t> excluded,
                                          const DrawTerms& terms, std::mt19937_64& random);

}  // namespace gearshift
