#include "actuators/knob_control.h"

namespace gearshift {

Progress ReadBack::not_taken(const Knob& knob, std::int64_t value,
                             std::optional<std::int64_t> actual, std::string_view path) {
  if (waited_for_ != value) looks_ = 0;
  waited_for_ = value;
  if (++looks_ < kLooks) return Progress::more;
  waited_for_.reset();
  throw KnobError(knob.name + ": wrote " + describe_value(knob.unit, value) + ", still " +
                  (actual ? describe_value(knob.unit, *actual) : "unreadable") + " (" +
                  std::string(path) + "); another program or a locked clock holds it");
}

std::unique_ptr<KnobControl> open_knob(const KnobDescription& description, Sysroot& root,
                                       std::string& finding) {
  switch (description.driver) {
    case KnobDriver::cpu_hotplug:
      return open_cpu_hotplug(description, root, finding);
    case KnobDriver::cpufreq:
      return open_cpu_clock(description, root, finding);
    case KnobDriver::gpu_devfreq:
      return open_gpu_clock(description, root, finding);
    case KnobDriver::emc_bpmp:
      return open_memory_clock(description, root, finding);
    case KnobDriver::cgroup_cpuset:
      return open_cpu_set(description, root, finding);
    case KnobDriver::cgroup_quota:
      return open_cpu_quota(description, root, finding);
    case KnobDriver::nvml_power_limit:
      return open_gpu_power_limit(description, root, finding);
    case KnobDriver::nvml_gpu_clock:
    case KnobDriver::nvml_memory_clock:
      return open_gpu_clock_lock(description, root, finding);
  }
  throw KnobError("this program has no driver for it");
}

}  // namespace gearshift
