#include "boards/cost_gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "boards/board_description.h"

namespace gearshift {
namespace {

double uniform(std::mt19937_64& engine, double low, double high) {
  return low + (high - low) * static_cast<double>(engine() >> 11) * 0x1p-53;
}

Demand random_demand(std::mt19937_64& engine) {
  Demand demand;
  for (double* part : {&demand.A, &demand.B, &demand.L, &demand.P, &demand.O}) {
    *part = std::exp(uniform(engine, -2, 6));
  }
  demand.kg = uniform(engine, 2, 20);
  demand.workers = static_cast<double>(engine() % 5);
  demand.fetch_ms = engine() % 2 == 0 ? 0 : 10;
  demand.S = engine() % 2 == 0 ? 0 : std::exp(uniform(engine, -2, 6));
  return demand;
}

ModelMode random_mode(std::mt19937_64& engine) {
  return {static_cast<double>(1 + engine() % 12), uniform(engine, 0.2, 2.2),
          uniform(engine, 0.1, 1.3), uniform(engine, 0.6, 3.2)};
}

double* part_of(Demand& demand, std::size_t which) {
  double* const parts[kDemands] = {&demand.A, &demand.B, &demand.L,
                                   &demand.P, &demand.O, &demand.kg};
  return parts[which];
}

TEST(CostGradient, AgreesWithTheModelAndItsFiniteDifferences) {
  std::mt19937_64 engine(3);
  for (const BoardDescription& board : built_in_boards()) {
    if (!board.model) continue;
    for (int round = 0; round < 200; ++round) {
      const DeviceParameters& device = board.parameters(round % 2 == 0 ? Kind::train : Kind::infer);
      const Demand demand = random_demand(engine);
      const ModelMode mode = random_mode(engine);
      const LogCost cost = log_cost(device, demand, mode);
      const MinibatchCost plain = minibatch_cost(device, demand, mode);
      EXPECT_NEAR(cost.time, std::log(plain.minibatch_ms), 1e-12);
      EXPECT_NEAR(cost.power, std::log(plain.power_w), 1e-12);
      for (std::size_t i = 0; i < kDemands; ++i) {
        constexpr double kStep = 1e-6;
        Demand more = demand;
        Demand less = demand;
        *part_of(more, i) *= std::exp(kStep);
        *part_of(less, i) *= std::exp(-kStep);
        const MinibatchCost high = minibatch_cost(device, more, mode);
        const MinibatchCost low = minibatch_cost(device, less, mode);
        EXPECT_NEAR(cost.time_by[i], std::log(high.minibatch_ms / low.minibatch_ms) / (2 * kStep),
                    1e-5);
        EXPECT_NEAR(cost.power_by[i], std::log(high.power_w / low.power_w) / (2 * kStep), 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace gearshift
