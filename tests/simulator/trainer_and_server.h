// A trainer and a server of two batch sizes that share a board, for tests of what requests cost.
#pragma once

#include <vector>

#include "simulator/plant.h"

namespace gearshift {

// `train` and `infer` are borrowed; a latency of 0: the server promises none.
inline std::vector<SimulatedTask> trainer_and_server(const CostSource& train,
                                                     const CostSource& infer,
                                                     const ArrivalSpec& arrivals,
                                                     Duration latency = {}) {
  return {
      {.name = "net", .kind = Kind::train, .batch_sizes = {16}, .batch_size = 16, .costs = &train},
      {.name = "served",
       .kind = Kind::infer,
       .batch_sizes = {1, 4},
       .batch_size = 4,
       .costs = &infer,
       .arrivals = arrivals,
       .latency = latency}};
}

}  // namespace gearshift
