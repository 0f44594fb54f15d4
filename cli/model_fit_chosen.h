// gearshift model fit --choose roofline: fits to cells that the fit itself chooses, judged by the
// rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "boards/model_fit.h"
#include "controller/profile.h"

namespace gearshift {

struct ChooseOptions {
  std::string start;  // "BOARD/WORKLOAD"; empty: the first workload that is not the profile's
  std::size_t cells = 10;
  std::size_t repeats = 20;
  std::uint64_t seed = 1;
};

// Quartiles over the repeats, of mean relative errors over the cells that were not chosen.
struct ErrorQuartiles {
  double lower = 0;
  double median = 0;
  double upper = 0;
  double worst = 0;
};

struct ChosenFit {
  std::string board;
  std::string workload;
  std::string start;
  ChooseOptions options;
  std::size_t judged = 0;  // cells
  ErrorQuartiles time;
  ErrorQuartiles power;
  ErrorQuartiles power_scale;
};

// Throws std::runtime_error where there is no such workload to start from, or it is the profile's.
ChosenFit fit_chosen(const BoardDescription& board, const Profile& profile,
                     const std::vector<FitCell>& cells, const ChooseOptions& options);

void print(const ChosenFit& fit);
nlohmann::ordered_json to_json(const ChosenFit& fit);

}  // namespace gearshift
