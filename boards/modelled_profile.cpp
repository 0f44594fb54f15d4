#include "boards/modelled_profile.h"

#include <stdexcept>
#include <vector>

namespace gearshift {

Profile modelled_profile(const BoardDescription& board, const KnobSpace& knobs,
                         const std::string& name, const WorkloadParameters& workload,
                         std::span<const std::int32_t> batch_sizes) {
  if (!board.model) throw std::invalid_argument(board.id + ": the board file has no [model]");
  const KnobSpace whole = board.knob_space();
  const ModelMode highest = model_mode(whole, whole.highest(), {});
  const DeviceParameters& device = board.parameters(workload.kind);
  const std::vector<PowerMode> modes = modes_by_power(board, knobs);
  Profile profile(knobs);
  profile.device = board.id;
  profile.workload = name;
  profile.kind = workload.kind;
  for (const std::int32_t size : batch_sizes) {
    const Demand demand = workload.demand(size);
    for (const PowerMode& mode : modes) {
      const MinibatchCost cost = minibatch_cost(device, demand, model_mode(knobs, mode, highest));
      ProfileCell cell;
      cell.mode = mode;
      cell.batch_size = size;
      cell.minibatch_ms = cost.minibatch_ms;
      cell.power_w = cost.power_w;
      profile.add(cell);
    }
  }
  return profile;
}

}  // namespace gearshift
