// The exhaustive optimum of training beside inference, over the settings that both were measured
// in.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "evaluation/problem.h"

namespace gearshift {

// What is counted: whole training minibatches between two inference minibatches, as published, or
// in a second.
enum class Throughput : std::uint8_t { window, second };

// One power mode and inference batch size, with the training batch size that there is.
struct ConcurrentCell {
  const ProfileCell* train = nullptr;
  const ProfileCell* infer = nullptr;
  bool trusted = true;  // neither is suspect

  // Both run: the higher of the two.
  double power_w() const;
};

class ConcurrentTable {
 public:
  // Borrows both profiles, which have the same knobs. `train_batch`: the training batch size that
  // counts. Suspects: an entry a cell, or none.
  ConcurrentTable(const Profile& train, const Profile& infer, std::int32_t train_batch,
                  const std::vector<bool>& suspect_train = {},
                  const std::vector<bool>& suspect_infer = {});

  const std::vector<ConcurrentCell>& cells() const { return cells_; }
  // Null where one of the two was not measured there.
  const ConcurrentCell* find(const PowerMode& mode, std::int32_t infer_batch) const;
  // Of the cells that keep the limits the one of most training: ties go to the lower power, then to
  // the smaller batch, then to the earlier one. Null where none keeps them.
  const ConcurrentCell* best(const Problem& problem, Throughput throughput,
                             bool suspects_too) const;

 private:
  std::vector<ConcurrentCell> cells_;
};

// Power is within the limit and so is the energy of a training sample, and inference keeps up and
// answers in time.
bool keeps(const Problem& problem, const ConcurrentCell& cell);
// Whole training minibatches in the time that inference leaves, w = b/r - t: floor(w / t_train) of
// a window, r/b times as many in a second. 0 where inference leaves too little.
double throughput(const Problem& problem, const ConcurrentCell& cell, Throughput of);

}  // namespace gearshift
