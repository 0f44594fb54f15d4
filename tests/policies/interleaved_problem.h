// Training and inference that share a small AGX Orin, and that the board's model describes exactly.
#pragma once

#include <algorithm>
#include <chrono>

#include "controller/observation.h"
#include "policies/numerics/cost_prior.h"
#include "policies/numerics/setting_grid.h"
#include "tests/policies/orin_problem.h"

namespace gearshift {

struct InterleavedProblem : OrinProblem {
  Workload server;
  BoardModel board = *built_in_board_model("jetson-agx-orin");
  double trains_dearer = 1;  // training draws so many times what the model says

  InterleavedProblem() {
    server = OrinProblem(Kind::infer).trainer;
    goal = {.objective = Objective::throughput,
            .power_mw = 30'000,
            .latency = std::chrono::milliseconds(800),
            .arrivals_per_s = 30};
  }
  PolicyContext context() const {
    PolicyContext context = OrinProblem::context();
    context.workloads[index(Kind::infer)] = &server;
    return context;
  }
  Observation measured(const Setting& setting) const {
    const ModelMode mode = model_mode(knobs, setting.mode, board.highest);
    const TrueCost train = cost(board, mode, 16);
    const TrueCost infer = cost(board, mode, setting.batch_size[index(Kind::infer)], Kind::infer);
    const bool trains = setting.run == Run::both;
    const double power_w =
        trains ? std::max(trains_dearer * train.power_w, infer.power_w) : infer.power_w;
    if (1e3 * power_w > static_cast<double>(*goal.power_mw)) {
      Observation cut = cut_short(setting, Outcome::over_limit);
      cut.limit_mw = *goal.power_mw;
      return cut;
    }
    Observation answer = complete(setting, train.minibatch_ms, power_w);
    if (!trains) answer.cost[index(Kind::train)] = {};
    answer.power_max_mw = answer.power_mean_mw;
    answer.cost[index(Kind::infer)] =
        complete(setting, infer.minibatch_ms, power_w, Kind::infer).cost[index(Kind::infer)];
    answer.power_margin_mw = 0;
    return answer;
  }
  // Training minibatches a second of the best setting that keeps the goal; -1: none does.
  double optimum() const {
    double most = -1;
    const SettingGrid grid(context(), highest_mode(&board), kMostGridSettings, Kind::infer);
    for (std::size_t i = 0; i < grid.size(); ++i) {
      const Observation answer = measured(grid.setting(i));
      if (answer.keeps(goal)) most = std::max(most, 1 / answer.value(goal));
    }
    return most;
  }
};

}  // namespace gearshift
