#include "boards/cost_gradient.h"

#include <cmath>

#include "boards/cost_formula.h"

namespace gearshift {
namespace {

// A number with its derivatives by the logarithms of the demands: forward differentiation.
struct Dual {
  double value = 0;
  std::array<double, kDemands> by{};

  Dual() = default;
  explicit Dual(double number) : value(number) {}

  template <class Change>
  Dual with(double number, Change change) const {
    Dual made(number);
    for (std::size_t i = 0; i < kDemands; ++i) made.by[i] = change(i);
    return made;
  }
};

Dual operator+(const Dual& a, const Dual& b) {
  return a.with(a.value + b.value, [&](std::size_t i) { return a.by[i] + b.by[i]; });
}
Dual operator*(const Dual& a, const Dual& b) {
  return a.with(a.value * b.value,
                [&](std::size_t i) { return a.by[i] * b.value + a.value * b.by[i]; });
}
Dual operator/(const Dual& a, const Dual& b) {
  const double inverse = 1 / b.value;
  const double quotient = a.value * inverse;
  return a.with(quotient, [&](std::size_t i) { return (a.by[i] - quotient * b.by[i]) * inverse; });
}
Dual operator*(const Dual& a, double b) {
  return a.with(a.value * b, [&](std::size_t i) { return a.by[i] * b; });
}
Dual operator*(double a, const Dual& b) { return b * a; }
Dual operator/(const Dual& a, double b) { return a * (1 / b); }
Dual operator+(const Dual& a, double b) {
  Dual sum = a;
  sum.value += b;
  return sum;
}
Dual operator+(double a, const Dual& b) { return b + a; }
bool operator<=(const Dual& a, double b) { return a.value <= b; }
const Dual& max(const Dual& a, const Dual& b) { return a.value < b.value ? b : a; }
const Dual& min(const Dual& a, const Dual& b) { return b.value < a.value ? b : a; }

// Of a number from 0.
Dual pow(const Dual& a, double p) {
  const double power = std::pow(a.value, p);
  const double slope = a.value > 0 ? p * power / a.value : 0;
  return a.with(power, [&](std::size_t i) { return slope * a.by[i]; });
}

Dual demanded(double value, std::size_t which) {
  Dual demand(value);
  demand.by[which] = value;
  return demand;
}

}  // namespace

LogCost log_cost(const DeviceParameters& device, const Demand& demand, const ModelMode& mode) {
  cost_formula::Work<Dual> work;
  work.A = demanded(demand.A, 0);
  work.B = demanded(demand.B, 1);
  work.L = demanded(demand.L, 2);
  work.P = demanded(demand.P, 3);
  work.O = demanded(demand.O, 4);
  work.kg = demanded(demand.kg, 5);
  work.workers = demand.workers;
  work.fetch_ms = demand.fetch_ms;
  work.load = demand.S;
  const cost_formula::Cost<Dual> time = cost_formula::minibatch_time(device, work, mode);
  const Dual power =
      cost_formula::board_power_w(device, mode, work.kg, cost_formula::activity(work, time));
  LogCost cost;
  cost.time = std::log(time.total_ms.value);
  cost.power = std::log(power.value);
  for (std::size_t i = 0; i < kDemands; ++i) {
    cost.time_by[i] = time.total_ms.by[i] / time.total_ms.value;
    cost.power_by[i] = power.by[i] / power.value;
  }
  return cost;
}

}  // namespace gearshift
