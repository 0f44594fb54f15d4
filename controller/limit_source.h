// Where a limit comes from: the operator, a schedule, a battery, heat.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "controller/clock.h"
#include "controller/event.h"

namespace gearshift {

class LimitSource {
 public:
  virtual ~LimitSource() = default;
  virtual std::string_view name() const = 0;  // "operator", "schedule"
  virtual void consume(const Event& event) = 0;
  // The power cap in mW at `now`; nullopt where the source sets none.
  virtual std::optional<std::int64_t> power_mw(Time now) = 0;
};

}  // namespace gearshift
