// What comes of choosing a mode by prediction: PowerTrain's choices under power limits against the
// best measured mode and against baselines, as in section 5 of doi:10.1016/j.future.2024.07.001.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/powertrain/comparison.h"

namespace gearshift {

enum class Strategy : std::uint8_t { highest, random, afresh, transferred };
std::string_view strategy_name(Strategy strategy);  // "MAXN", "RND", "NN", "PowerTrain"

struct OptimizationRow {
  std::string device;
  std::string workload;
  Strategy strategy = Strategy::highest;
  std::size_t solutions = 0;  // one a solvable limit and draw of the modes
  // Time of the chosen mode over that of the best one, less 100 %: below 0 where it is over the
  // limit and faster.
  Quartiles penalty_percent;
  double area_w = 0;              // mean power over the limit, 0 where it is kept
  double over_percent = 0;        // of the solutions, those over the limit
  double over_by_1w_percent = 0;  // and those by more than 1 W
  double over_by_most_w = 0;      // by how much the worst one is
};

struct OptimizationOptions {
  std::vector<double> caps_w;  // limits; those that no measured mode keeps are left out
  std::size_t modes = 50;      // measured by every strategy but the highest mode
  std::size_t repeats = 10;
  TrainingOptions training;
  std::function<void(std::size_t done, std::size_t total)> progress;  // draws; may be empty
};

// Of the highest mode, with the smallest batch size; null where it was not measured.
const ProfileCell* highest_cell(const Profile& target);

// Of each target a row a strategy, and none where no measured mode keeps a limit. The highest mode
// is left out where it was not measured. Where nothing is believed to keep a limit, the mode of
// least power is chosen. All choices are judged by the measured profile. Throws NetworkError, and
// before the first training what check_draws throws.
std::vector<OptimizationRow> compare_optimization(const NetworkModule& module,
                                                  const Predictor& reference,
                                                  std::span<const Profile> targets,
                                                  const OptimizationOptions& options);

// One choice, judged.
struct JudgedChoice {
  double penalty_percent = 0;
  double over_w = 0;  // at least 0
};
// The row of these choices, which are at least one; the names are left empty.
OptimizationRow judged_row(Strategy strategy, std::span<const JudgedChoice> choices);

}  // namespace gearshift
