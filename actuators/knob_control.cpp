#include "actuators/knob_control.h"

namespace gearshift {

Progress ReadBack::not_taken(const Knob& knob, std::int64_t value,
                             std::optional<std::int64_t> actual, std::string_view path) {
  if (waited_for_ != value) {
    waited_for_ = value;
    return Progress::more;
  }
  waited_for_.reset();
  throw KnobError(knob.name + ": wrote " + describe_value(knob.unit, value) + ", still " +
                  (actual ? describe_value(knob.unit, *actual) : "unreadable") + " (" +
                  std::string(path) + "); another program or a locked clock holds it");
}

}  // namespace gearshift
