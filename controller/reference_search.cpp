#include "controller/reference_search.h"

namespace gearshift {

std::optional<std::size_t> ReferenceSearch::next() const {
  if (begin_ == end_ || steps_ == kMostSteps) return std::nullopt;
  return steps_ == 0 ? end_ - 1 : begin_ + (end_ - begin_) / 2;
}

void ReferenceSearch::add(bool was_measured) {
  const std::size_t at = *next();
  ++steps_;
  if (was_measured) {
    found_ = at;
    begin_ = at + 1;
  } else {
    end_ = at;
  }
}

}  // namespace gearshift
