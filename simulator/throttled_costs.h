// What settings cost a board whose CPU and GPU run slower than their clocks say.
#pragma once

#include <optional>

#include "controller/knob.h"
#include "simulator/cost_source.h"

namespace gearshift {

// A board that is too hot, or draws too much, halts its cores for a share of the time: what is set
// and read back stays as it was. The memory keeps its clock.
class ThrottledCosts : public CostSource {
 public:
  // `costs` and `knobs` must outlive this; `factor`, above 0 and up to 1, is what is left of
  // cpu_mhz and gpu_mhz. A table gives the cell nearest to that.
  ThrottledCosts(const CostSource& costs, const KnobSpace& knobs, double factor)
      : costs_(costs), knobs_(knobs), factor_(factor) {}
  std::optional<TrueCost> cost(const PowerMode& mode, std::int32_t batch_size) const override;
  TrueCost passing(const PowerMode& mode, std::int32_t batch_size) const override;
  double idle_power_w(const PowerMode& mode) const override;
  RailPower rails(const PowerMode& mode, std::optional<std::int32_t> batch_size) const override;

 private:
  PowerMode slowed(const PowerMode& mode) const;

  const CostSource& costs_;
  const KnobSpace& knobs_;
  const double factor_;
};

}  // namespace gearshift
