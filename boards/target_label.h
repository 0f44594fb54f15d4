// What the label of a published number compares: "GPU compute: e over d", "g, w=0 over w=4".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gearshift {

// What one side of a comparison changes; all else is as the target gives it.
struct ComparisonSide {
  std::string mode;  // a published mode, or MAXN, the highest; empty: the target's own
  std::optional<double> gpu_mhz;
  std::optional<double> batch_size;
  std::optional<double> workers;
};

struct Comparison {
  std::string quantity;  // what stands before the sides, "GPU compute"; empty: not told
  ComparisonSide over;
  ComparisonSide under;
};

// "[QUANTITY: or NOTE, ]SIDE over SIDE[ (NOTE)]", where a side is "w=N", "bs N", "GPU N MHz" or the
// name of a mode, and the second may be a bare number where the first is "bs N". Nullopt otherwise.
std::optional<Comparison> parse_comparison(std::string_view label);

// "all N modes" or "N modes x M minibatches": a grid, and how often each mode of it was visited.
struct ModeGrid {
  std::size_t modes = 0;
  double minibatches = 1;
};
std::optional<ModeGrid> parse_mode_grid(std::string_view label);

}  // namespace gearshift
