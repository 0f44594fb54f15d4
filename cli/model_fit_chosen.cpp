#include "cli/model_fit_chosen.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <utility>

#include "cli/select_workload.h"
#include "policies/numerics/roofline_design.h"

namespace gearshift {
namespace {

using Json = nlohmann::ordered_json;

struct StartWorkload {
  std::string name;  // "BOARD/WORKLOAD"
  const WorkloadParameters* workload = nullptr;
};

bool is_of(const Profile& profile, const std::string& name, const WorkloadParameters& workload) {
  const std::vector<std::string>& aliases = workload.aliases;
  return name == profile.workload ||
         std::find(aliases.begin(), aliases.end(), profile.workload) != aliases.end();
}

// The first of the kind that is not the profile's, on the board itself if it has one.
StartWorkload default_start(const BoardDescription& board, const Profile& profile) {
  std::vector<const BoardDescription*> boards = {&board};
  for (const BoardDescription& other : built_in_boards()) boards.push_back(&other);
  for (const BoardDescription* one : boards) {
    for (const auto& [name, workload] : one->workloads) {
      if (workload.kind != profile.kind || is_of(profile, name, workload)) continue;
      return {one->id + "/" + name, &workload};
    }
  }
  throw std::runtime_error("no board file has a workload to start from that is not " +
                           profile.workload);
}

// Of the board that is fitted on, which may be of a file, or of a built-in one.
StartWorkload named_start(const std::string& named, const BoardDescription& own,
                          const Profile& profile) {
  const std::size_t slash = named.find('/');
  const std::string called = named.substr(0, slash);
  const BoardDescription* board = find_board(called, std::span(&own, 1));
  if (board == nullptr) board = find_board(called, built_in_boards());
  if (slash == std::string::npos || board == nullptr) {
    throw std::invalid_argument("--start " + named +
                                ": name a board and its workload, jetson-agx-orin/resnet18; "
                                "`gearshift boards` lists boards");
  }
  const auto& [name, workload] =
      require_workload(*board, named.substr(slash + 1), profile.kind, "--start");
  if (is_of(profile, name, workload)) {
    throw std::invalid_argument("--start " + named +
                                ": that is the profile's own workload, and what "
                                "is known of it would be judged by itself; name another");
  }
  return {board->id + "/" + name, &workload};
}

ErrorQuartiles quartiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double part) {
    const double place = part * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    const double rest = place - static_cast<double>(below);
    return values[below] * (1 - rest) + values[above] * rest;
  };
  return {at(0.25), at(0.5), at(0.75), values.back()};
}

Json quartiles_json(const ErrorQuartiles& of) {
  return {{"lower", of.lower}, {"median", of.median}, {"upper", of.upper}, {"worst", of.worst}};
}

}  // namespace

ChosenFit fit_chosen(const BoardDescription& board, const Profile& profile,
                     const std::vector<FitCell>& cells, const ChooseOptions& options) {
  if (options.cells > kMostRooflineRows) {
    throw std::invalid_argument("--choose roofline takes at most " +
                                std::to_string(kMostRooflineRows) + " cells, not " +
                                std::to_string(options.cells));
  }
  const StartWorkload start = options.start.empty() ? default_start(board, profile)
                                                    : named_start(options.start, board, profile);
  const RooflineEstimate expected = estimate_of(*start.workload);
  std::vector<RooflineRow> rows;
  for (const FitCell& cell : cells) {
    rows.push_back({cell.mode, cell.batch_size, cell.minibatch_ms, cell.power_w});
  }
  std::vector<double> time;
  std::vector<double> power;
  std::vector<double> scale;
  ChosenFit chosen;
  chosen.board = board.id;
  chosen.workload = profile.workload;
  chosen.start = start.name;
  chosen.options = options;
  for (std::size_t i = 0; i < options.repeats; ++i) {
    const DesignedFit fit = fit_by_design(board.parameters(profile.kind), rows, expected,
                                          options.cells, options.seed + i);
    time.push_back(fit.time_error);
    power.push_back(fit.power_error);
    scale.push_back(fit.estimate.power_scale());
    chosen.judged = rows.size() - fit.chosen.size();
  }
  chosen.time = quartiles(std::move(time));
  chosen.power = quartiles(std::move(power));
  chosen.power_scale = quartiles(std::move(scale));
  return chosen;
}

void print(const ChosenFit& fit) {
  std::printf(
      "%s on %s: %zu cells of its own choosing, from %s, %zu repeats; judged by the other %zu\n"
      "  time  %.1f %% (quartiles %.1f to %.1f, worst %.1f)\n"
      "  power %.1f %% (quartiles %.1f to %.1f, worst %.1f), shown power %.3f of the model's\n",
      fit.workload.c_str(), fit.board.c_str(), fit.options.cells, fit.start.c_str(),
      fit.options.repeats, fit.judged, 100 * fit.time.median, 100 * fit.time.lower,
      100 * fit.time.upper, 100 * fit.time.worst, 100 * fit.power.median, 100 * fit.power.lower,
      100 * fit.power.upper, 100 * fit.power.worst, fit.power_scale.median);
}

Json to_json(const ChosenFit& fit) {
  return {{"board", fit.board},
          {"workload", fit.workload},
          {"start", fit.start},
          {"cells", fit.options.cells},
          {"repeats", fit.options.repeats},
          {"seed", fit.options.seed},
          {"judged", fit.judged},
          {"time_error", quartiles_json(fit.time)},
          {"power_error", quartiles_json(fit.power)},
          {"power_scale", quartiles_json(fit.power_scale)}};
}

}  // namespace gearshift
