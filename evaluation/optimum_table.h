// The exhaustive optimum of a problem over the measured cells of one profile, all or those trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "controller/setting.h"
#include "evaluation/problem.h"

namespace gearshift {

// The best cell of a problem and its value.
struct BestCell {
  const ProfileCell* cell = nullptr;
  double value = 0;
};

// Sorts the cells once, so that a problem of time or latency costs one binary search a batch size;
// one of energy looks at every cell. Borrows the profile.
class OptimumTable {
 public:
  // `modes`, lowest power first, are the order in which a weighted goal's reference is sought.
  // `suspect` has an entry a cell, or none: a suspect cell is no optimum, but has its value.
  explicit OptimumTable(const Profile& profile, std::vector<PowerMode> modes = {},
                        std::vector<bool> suspect = {});

  const Profile& profile() const { return *profile_; }
  // Whether one of the profile's cells is none of the suspects.
  bool trusts(const ProfileCell& cell) const;
  // The least value of all trusted cells that keep the problem's limits; nullopt where none does.
  // Ties go to the lower power, then to the earlier cell of the profile.
  // `reference` is judging_goal's.
  std::optional<BestCell> best(const Problem& problem,
                               const std::optional<Setting>& reference = std::nullopt) const;
  // The problem's goal; a weighted one with the true cost of its reference, unless the problem
  // gives that: of the `reference` that a run had, else of the setting that the controller takes
  // without noise (ReferenceSearch), with the profile's smallest batch.
  Goal judging_goal(const Problem& problem,
                    const std::optional<Setting>& reference = std::nullopt) const;
  // What a judging goal minimises, whether the cell keeps the limits or not. time: milliseconds of
  // as many samples as the profile's smallest batch has (a minibatch, where there is one batch
  // size). latency: milliseconds of a request. Else Goal::cost of a sample.
  double value(Kind kind, const Goal& goal, const ProfileCell& cell) const;
  // True where the power limit changes the answer: without it the optimum would be a cell that
  // draws more.
  bool binds(const Problem& problem, const std::optional<Setting>& reference = std::nullopt) const;
  // For each batch size the cells that are faster than all that draw no more, lowest power first.
  std::vector<std::vector<const ProfileCell*>> fronts() const;

 private:
  // The fastest of all cells that draw no more than power_w.
  struct Step {
    double power_w = 0;
    const ProfileCell* fastest = nullptr;
  };
  // Of one batch size, lowest power first.
  struct Staircase {
    std::int32_t batch_size = 0;
    std::vector<Step> steps;
  };

  std::optional<BestCell> best_of_all(const Problem& problem,
                                      const std::optional<Setting>& reference) const;

  const Profile* profile_;
  std::vector<PowerMode> modes_;
  std::vector<bool> suspect_;
  std::vector<Staircase> staircases_;
};

}  // namespace gearshift
