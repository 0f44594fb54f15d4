// The power limit of an NVIDIA GPU's board, set through NVML.
#include <algorithm>
#include <vector>

#include "actuators/gpu_restore.h"
#include "actuators/knob_control.h"
#include "boards/nvml_gpu.h"

namespace gearshift {
namespace {

constexpr std::int64_t kMwPerW = 1000;

std::string watts(std::int64_t mw) { return describe_value(Unit::mw, mw); }

// The limit that was set, in mW. Throws KnobError where the GPU would not take it again.
std::int64_t limit_to_put_back(NvmlGpu& gpu, const PowerLimitRange& range) {
  const std::int64_t now_mw = gpu.power_limit_mw();
  if (now_mw >= range.least_mw && now_mw <= range.most_mw) return now_mw;
  throw KnobError("NVML gives its limit as " + watts(now_mw) + " W, outside its own range of " +
                  watts(range.least_mw) + " to " + watts(range.most_mw) +
                  " W: it could not be put back");
}

class GpuPowerLimit : public KnobControl {
 public:
  GpuPowerLimit(Knob knob, NvmlGpu gpu, const PowerLimitRange& range)
      : KnobControl(std::move(knob)), gpu_(std::move(gpu)), range_(range) {}

  void save(KnobJournal& journal) override {
    journal.save(SavedRole::gpu_power_limit, gpu_path(gpu_.uuid(), "power_limit"),
                 std::to_string(limit_to_put_back(gpu_, range_)));
  }

  Progress write(std::int64_t value, KnobJournal&) override {
    gpu_.set_power_limit_mw(value);
    const std::optional<std::int64_t> actual = read();
    if (actual == value) return read_back_.taken();
    return read_back_.not_taken(knob_, value, actual, gpu_path(gpu_.uuid(), "power_limit"));
  }

  std::optional<std::int64_t> read() override {
    try {
      return gpu_.enforced_power_limit_mw();
    } catch (const NvmlError&) {
      return std::nullopt;
    }
  }

 private:
  NvmlGpu gpu_;
  const PowerLimitRange range_;
  ReadBack read_back_;
};

// The values of the board file that the GPU takes, and its least, default and greatest, in whole
// watts: a limit of 99,999 mW is one that nobody can type.
std::vector<std::int64_t> offered(const std::vector<std::int64_t>& described,
                                  const PowerLimitRange& range) {
  const std::int64_t least = (range.least_mw + kMwPerW - 1) / kMwPerW * kMwPerW;
  const std::int64_t most = range.most_mw / kMwPerW * kMwPerW;
  if (range.least_mw <= 0 || least >= most) {
    throw KnobError("NVML gives its range as " + watts(range.least_mw) + " to " +
                    watts(range.most_mw) + " W: there is nothing to choose");
  }
  std::vector<std::int64_t> values = {least, most, range.default_mw / kMwPerW * kMwPerW};
  values.insert(values.end(), described.begin(), described.end());
  std::erase_if(values, [&](std::int64_t value) {
    return value < least || value > most || value % kMwPerW != 0;
  });
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

NvmlGpu open_settable_gpu(const KnobDescription& description, const Sysroot& root) {
  NvmlGpu gpu(root, description.gpu);
  if (!gpu.uuid().starts_with("GPU-")) {
    throw KnobError("NVML gives its UUID as '" + gpu.uuid() +
                    "': it could not be found again to be put back");
  }
  if (gpu.is_mig()) {
    throw KnobError(gpu.uuid() +
                    " is cut into instances by MIG, which share its limit and clocks with every "
                    "other user of it; turn MIG off (nvidia-smi -mig 0) to set them");
  }
  const std::string reason = gpu.read_only_reason();
  if (!reason.empty()) throw KnobError(reason);
  return gpu;
}

std::unique_ptr<KnobControl> open_gpu_power_limit(const KnobDescription& description, Sysroot& root,
                                                  std::string& finding) {
  try {
    NvmlGpu gpu = open_settable_gpu(description, root);
    const PowerLimitRange range = gpu.power_limit_range();
    Knob knob = description.knob;
    knob.values = offered(knob.values, range);
    finding = "NVML, " + gpu.name() + ", " + gpu.uuid() + ": default " +
              (range.default_mw > 0 ? watts(range.default_mw) + " W" : std::string("not told")) +
              ", now " + watts(limit_to_put_back(gpu, range)) + " W, which is put back";
    return std::make_unique<GpuPowerLimit>(std::move(knob), std::move(gpu), range);
  } catch (const NvmlError& error) {
    throw KnobError(error.what());
  }
}

}  // namespace gearshift
