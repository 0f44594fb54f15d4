// The cap an operator sets: on the command line at first, with `gearshift cap` later.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "controller/limit_source.h"

namespace gearshift {

class OperatorLimit : public LimitSource {
 public:
  explicit OperatorLimit(std::optional<std::int64_t> power_mw) : power_mw_(power_mw) {}

  std::string_view name() const override { return "operator"; }
  // A cap event of 0 mW lifts the cap; a negative one is ignored.
  void consume(const Event& event) override;
  Limit limit(Time) override { return {.power_mw = power_mw_}; }

 private:
  std::optional<std::int64_t> power_mw_;
};

}  // namespace gearshift
