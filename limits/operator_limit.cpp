#include "limits/operator_limit.h"

namespace gearshift {

void OperatorLimit::consume(const Event& event) {
  if (event.type != EventType::cap || event.power_mw < 0) return;
  power_mw_.reset();
  if (event.power_mw > 0) power_mw_ = event.power_mw;
}

}  // namespace gearshift
