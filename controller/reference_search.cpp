#include "controller/reference_search.h"

#include <algorithm>

namespace gearshift {

std::optional<ReferenceSearch::Place> ReferenceSearch::next() const {
  if (begin_ == end_ || steps_ == kMostSteps) return std::nullopt;
  if (is_lowest_first()) return Place{0, smaller_};
  return Place{steps_ == 0 ? end_ - 1 : begin_ + (end_ - begin_) / 2, smaller_};
}

void ReferenceSearch::add(Came came) {
  const Place at = *next();
  if (!is_lowest_first()) ++steps_;
  if (came == Came::measured) found_ = at;
  if (came == Came::late) was_late_ = true;
  if (came == Came::failed) {
    end_ = at.mode;
  } else {
    begin_ = at.mode + 1;
  }
  if (next() || found_ || smaller_ == smaller_batches_) return;
  ++smaller_;
  begin_ = 0;
  end_ = modes_;
  steps_ = 0;
}

std::size_t smaller_batches(std::span<const std::int32_t> offered, std::int32_t own) {
  return static_cast<std::size_t>(std::lower_bound(offered.begin(), offered.end(), own) -
                                  offered.begin());
}

std::int32_t smaller_batch(std::span<const std::int32_t> offered, std::int32_t own,
                           std::size_t smaller) {
  const std::size_t below = smaller_batches(offered, own);
  if (smaller == 0 || below == 0) return own;
  return offered[below - std::min(smaller, below)];
}

}  // namespace gearshift
