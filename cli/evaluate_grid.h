// The grid of an evaluation with the files it was made from, and how one of its cases is run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "boards/board_model.h"
#include "cli/evaluate_options.h"
#include "cli/policy_transfer.h"
#include "cli/prior_tables.h"
#include "evaluation/grid.h"
#include "evaluation/trial.h"
#include "simulator/simulation.h"

namespace gearshift {

// Made once, then read by several threads.
class EvaluateGrid {
 public:
  // Reads every file that the options name. Throws PolicyError where a script cannot be used,
  // std::invalid_argument and std::runtime_error that name the option or file, and the way out.
  explicit EvaluateGrid(const EvaluateOptions& options);

  const Grid& grid() const { return grid_; }
  // The same grid where no cell is suspect; null where none is in grid().
  const Grid* all_cells() const { return all_cells_ ? &*all_cells_ : nullptr; }
  // How many a policy of an online problem makes; 0 in other problems.
  std::size_t measurements() const { return measurements_; }
  // One case on a simulated board: fresh policy, empty memory. What the policy is shown of measured
  // tables are the priors, of the very workload that it is tried on only those of --own-prior.
  Trial run(const Case& one) const;

 private:
  // What one workload needs to be simulated, by the index of the target.
  struct Bench {
    std::unique_ptr<Profile> profile;  // its measured cells
    std::unique_ptr<Profile> truth;    // and those that were filled
    std::unique_ptr<CostSource> model;
    std::unique_ptr<ProfileCosts> costs;
    std::vector<const Profile*> priors;
    std::optional<BoardModel> board;  // of the built-in board that the profile names
  };

  void add_profiles(const EvaluateOptions& options, const std::string& path);
  void add_workload(const Profile& whole, const EvaluateOptions& options, const std::string& path);
  void mark_suspects(const EvaluateOptions& options);

  Grid grid_;
  std::optional<Grid> all_cells_;
  std::unique_ptr<BoardDescription> board_;  // whose model fills gaps
  std::vector<Bench> benches_;
  EvaluationPriors priors_;
  ReferenceTransfer transfer_ = policy_transfer();
  Effects effects_;
  std::uint32_t most_measurements_ = 0;
  std::uint32_t measurements_ = 0;
};

}  // namespace gearshift
