// Reads what one NVIDIA GPU draws, from its energy counter where it has one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "boards/nvml_gpu.h"
#include "sensors/sampler.h"

namespace gearshift {

// Emits the power of the GPU's board (channel 0). With an energy counter (from Volta on) it is the
// energy used between two moves of the counter that are 80 ms or more apart, divided by that time;
// between them the reading before is repeated with its time. A look at the counter costs 4 ms of
// processor time (H200, driver 580), so that it is looked at only when it is due to move. A counter
// that stands still for a second is not believed, nor what it has then counted: until it has moved
// again, without one, and while the driver does not offer it any more, power is what NVML says it
// is at present. NVML samples power, on some GPUs a quarter of the time only; the counter misses
// nothing. Missing: the counter's first reading, one that went back (the driver was restarted), and
// a GPU that does not answer. No power at all is absurd.
class NvmlPower : public BlockingSensor {
 public:
  // Probed by reading power: that NVML is there tells nothing. Null, and a finding says why.
  static std::unique_ptr<NvmlPower> open(const PowerDescription& power, Sysroot& root,
                                         std::vector<std::string>& findings);

  void read(Time now, std::vector<Reading>& readings) override;
  std::string explain(const Reading& reading) const override;
  // A call into the driver cannot be cut short, and is the only one of a read.
  void interrupt() noexcept override {}

 private:
  NvmlPower(NvmlGpu gpu, bool counts, const PowerDescription& power);
  void count(Time now);
  void count_from(std::int64_t energy_mj, Time now);
  std::optional<std::int64_t> look();
  void ask(Time now);
  void take(std::int64_t power_mw, Time now);
  void learn_pace(Time now);
  void forget_pace(Time since);

  NvmlGpu gpu_;
  const bool counts_;
  const std::int64_t plausible_max_mw_;
  std::optional<std::int64_t> energy_mj_;  // at counted_
  Time counted_{};
  std::int64_t seen_mj_ = 0;  // the newest that the counter showed
  Time moved_{};              // since when
  bool stands_still_ = false;
  Time due_{};  // before it the counter is not looked at
  Time learns_since_{};
  int moves_ = 0;    // since then, as far as they are learnt from
  Duration pace_{};  // the mean time from one to the next
  Reading reading_;
  std::string reason_;  // why reading_ is missing
};

}  // namespace gearshift
