// The exhaustive optimum of a problem over the measured cells of one profile.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "evaluation/problem.h"

namespace gearshift {

// The best cell of a problem and its value in milliseconds.
struct BestCell {
  const ProfileCell* cell = nullptr;
  double value_ms = 0;
};

// Sorts the cells once, so that a problem costs one binary search a batch size. Borrows the
// profile.
class OptimumTable {
 public:
  explicit OptimumTable(const Profile& profile);

  const Profile& profile() const { return *profile_; }
  // The least value of all cells that keep the problem's limits; nullopt where none does. Ties go
  // to the lower power, then to the earlier cell of the profile.
  std::optional<BestCell> best(const Problem& problem) const;
  // What the problem minimises, in milliseconds, whether the cell keeps the limits or not. train:
  // the time of as many samples as the profile's smallest batch has (a minibatch, where there is
  // one batch size). infer: the latency of a request.
  double value_ms(const Problem& problem, const ProfileCell& cell) const;
  // True where the power limit changes the answer: without it the optimum would be a cell that
  // draws more.
  bool binds(const Problem& problem) const;
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

  const Profile* profile_;
  std::vector<Staircase> staircases_;
};

}  // namespace gearshift
