// How many training minibatches fit whole between two inference minibatches, where requests come
// like clockwork.
#pragma once

#include <cmath>
#include <cstdint>

namespace gearshift {

// Whole training minibatches of `train_ms` in what inference of `infer_ms` leaves of `fill_ms`. All
// are rounded to nanoseconds, as minibatches are measured: where they fit exactly, as many are
// counted wherever they are, which a quotient of fractions does not promise. 0 where inference
// leaves too little, or a minibatch has no time.
inline std::int64_t whole_minibatches(double fill_ms, double infer_ms, double train_ms) {
  const std::int64_t left = std::llround(kNsInMs * fill_ms) - std::llround(kNsInMs * infer_ms);
  const std::int64_t train = std::llround(kNsInMs * train_ms);
  return left > 0 && train > 0 ? left / train : 0;
}

}  // namespace gearshift
