#include <algorithm>
#include <stdexcept>
#include <utility>

#include "boards/board_description.h"
#include "boards/clock_units.h"

namespace gearshift {
namespace {

// Calls `visit` with every mode of the space, in the order of values, first knob slowest.
template <typename Visit>
void for_each_mode(const KnobSpace& space, Visit visit) {
  std::array<std::size_t, kMaxKnobs> position{};
  PowerMode mode = space.lowest();
  while (true) {
    visit(mode, position);
    std::size_t knob = space.size();
    while (knob > 0 && position[knob - 1] + 1 == space.knobs[knob - 1].values.size()) {
      --knob;
      position[knob] = 0;
      mode.values[knob] = space.knobs[knob].values.front();
    }
    if (knob == 0) return;
    mode.values[knob - 1] = space.knobs[knob - 1].values[++position[knob - 1]];
  }
}

bool has_power_limit(const KnobSpace& space) {
  return std::any_of(space.knobs.begin(), space.knobs.end(),
                     [](const Knob& knob) { return knob.knob_class == KnobClass::power_limit; });
}

double share_of_highest(const Knob& knob, std::int64_t value) {
  return static_cast<double>(value) / static_cast<double>(knob.values.back());
}

// The product over the knobs of (position + 1) / count: 1 is everything at its highest. Where the
// board has a limit of its power, it draws no more than that, as a share of its highest limit, and
// no more than its other knobs let it, of which memory is a part: at a tenth of its clock the rest
// still draws.
double relative_power(const KnobSpace& space, bool limited, const PowerMode& mode,
                      const std::array<std::size_t, kMaxKnobs>& position) {
  double limit = 1;
  double drawn = 1;
  for (std::size_t i = 0; i < space.size(); ++i) {
    const Knob& knob = space.knobs[i];
    if (knob.knob_class == KnobClass::power_limit) {
      limit = share_of_highest(knob, mode.values[i]);
    } else if (limited && knob.knob_class == KnobClass::memory) {
      drawn *= (1 + share_of_highest(knob, mode.values[i])) / 2;
    } else {
      drawn *= static_cast<double>(position[i] + 1) / static_cast<double>(knob.values.size());
    }
  }
  return std::min(limit, drawn);
}

// Every so many values of the list that `most` are left, with both ends. `most` is at least 2.
std::vector<std::int64_t> thinned(const std::vector<std::int64_t>& values, std::size_t most) {
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < most; ++i) {
    kept.push_back(values[i * (values.size() - 1) / (most - 1)]);
  }
  return kept;
}

// With no more than `most` values a knob. At most kMaxModes + 1.
std::size_t count_with(const KnobSpace& space, std::size_t most) {
  std::size_t count = 1;
  for (const Knob& knob : space.knobs) {
    count *= std::min(knob.values.size(), most);
    if (count > kMaxModes) return kMaxModes + 1;
  }
  return count;
}

}  // namespace

KnobSpace BoardDescription::knob_space() const {
  KnobSpace space;
  for (const KnobDescription& description : knobs) space.knobs.push_back(description.knob);
  return space;
}

std::size_t bounded_mode_count(const KnobSpace& space) { return count_with(space, kMaxModes + 1); }

std::string too_many_modes(const KnobSpace& space) {
  std::string text = "more than " + std::to_string(kMaxModes) + " modes together (";
  for (std::size_t i = 0; i < space.size(); ++i) {
    text += (i == 0 ? "" : ", ") + space.knobs[i].name + ' ' +
            std::to_string(space.knobs[i].values.size());
  }
  return text + " values)";
}

std::vector<std::string> thin_modes(KnobSpace& space) {
  static_assert(kMaxModes >= 1 << kMaxKnobs, "two values of every knob fit");
  std::size_t most = 2;
  for (const Knob& knob : space.knobs) most = std::max(most, knob.values.size());
  while (most > 2 && count_with(space, most) > kMaxModes) --most;
  std::vector<std::string> told(space.size());
  for (std::size_t i = 0; i < space.size(); ++i) {
    Knob& knob = space.knobs[i];
    const std::size_t all = knob.values.size();
    if (all <= most) continue;
    knob.values = thinned(knob.values, most);
    told[i] = std::to_string(most) + " of its " + std::to_string(all) +
              " values are used, evenly: all knobs together may have " + std::to_string(kMaxModes) +
              " modes";
  }
  return told;
}

ModelMode model_mode(const KnobSpace& space, const PowerMode& mode, const ModelMode& fallback) {
  const auto value = [&](std::string_view name, double scale, double otherwise) {
    const std::optional<std::size_t> knob = space.find(name);
    return knob ? static_cast<double>(mode.values[*knob]) / scale : otherwise;
  };
  return {.cpu_cores = value("cpu_cores", 1, fallback.cpu_cores),
          .cpu_ghz = value("cpu_mhz", kKhzInGhz, fallback.cpu_ghz),
          .gpu_ghz = value("gpu_mhz", kKhzInGhz, fallback.gpu_ghz),
          .mem_ghz = value("mem_mhz", kKhzInGhz, fallback.mem_ghz)};
}

std::vector<PowerMode> modes_by_power(const BoardDescription& board, const KnobSpace& space) {
  const std::size_t count = bounded_mode_count(space);
  if (count > kMaxModes) {
    throw std::length_error((board.id.empty() ? "" : board.id + ": ") + "the knobs have " +
                            too_many_modes(space) + "; shorten the longest list of values");
  }
  const KnobSpace whole = board.knob_space();
  const ModelMode fallback = model_mode(whole, whole.highest(), {});
  Demand load;
  const DeviceParameters* device = nullptr;
  if (board.model) {
    const WorkloadParameters& reference = board.workloads.at(board.reference_workload);
    load = reference.demand(reference.reference_batch);
    device = &board.parameters(reference.kind);
  }
  std::vector<PowerMode> modes;
  std::vector<std::pair<double, std::uint32_t>> order;  // power, index: ties by value
  modes.reserve(count);
  order.reserve(count);
  const bool limited = has_power_limit(space);
  for_each_mode(space, [&](const PowerMode& mode, const auto& position) {
    const double power =
        device ? minibatch_cost(*device, load, model_mode(space, mode, fallback)).power_w
               : relative_power(space, limited, mode, position);
    order.emplace_back(power, static_cast<std::uint32_t>(modes.size()));
    modes.push_back(mode);
  });
  std::sort(order.begin(), order.end());
  std::vector<PowerMode> sorted;
  sorted.reserve(count);
  for (const auto& [power, index] : order) sorted.push_back(modes[index]);
  return sorted;
}

PowerMode safe_mode(const BoardDescription& board, const KnobSpace& space,
                    const std::vector<PowerMode>& modes) {
  PowerMode floor;
  for (const KnobDescription& description : board.knobs) {
    const std::optional<std::size_t> knob = space.find(description.knob.name);
    if (knob) floor.values[*knob] = description.safe_at_least;
  }
  const auto usable = [&](const PowerMode& mode) {
    for (std::size_t i = 0; i < mode.count; ++i) {
      if (mode.values[i] < floor.values[i]) return false;
    }
    return true;
  };
  const auto found = std::find_if(modes.begin(), modes.end(), usable);
  return found == modes.end() ? modes.back() : *found;
}

}  // namespace gearshift
