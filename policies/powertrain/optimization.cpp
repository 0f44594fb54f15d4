#include "policies/powertrain/optimization.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "policies/numerics/trade_off.h"

namespace gearshift {
namespace {

// The settings of some cells of a profile.
Profile part_of(const Profile& profile, std::span<const std::size_t> cells) {
  Profile part(profile.knobs());
  for (const std::size_t cell : cells) part.add(profile.cells()[cell]);
  return part;
}

std::size_t least_power(const TradeOff& costs) { return costs.power_and_time.front(); }

// What one strategy believes, and the truth to judge it by.
class Judge {
 public:
  Judge(const Profile& target, std::span<const double> caps_w)
      : target_(target), truth_(trade_off(target)) {
    for (const double cap_w : caps_w) {
      const std::optional<std::size_t> best = fastest_under(truth_, cap_w);
      if (best) limits_.push_back({cap_w, truth_.settings[*best].time_ms});
    }
  }

  std::size_t limits() const { return limits_.size(); }

  // Chooses for every limit by `believed`, the costs of settings of the target, and judges that.
  void judge(const TradeOff& believed, std::vector<JudgedChoice>& choices) const {
    for (const Limit& limit : limits_) {
      const std::size_t chosen =
          fastest_under(believed, limit.cap_w).value_or(least_power(believed));
      choices.push_back(judged(believed.settings[chosen], limit));
    }
  }

  // The same setting for every limit; nothing where it was not measured.
  void judge_highest(std::vector<JudgedChoice>& choices) const {
    const ProfileCell* const cell = highest_cell(target_);
    if (cell == nullptr) return;
    for (const Limit& limit : limits_) {
      choices.push_back(judged({.mode = cell->mode, .batch_size = cell->batch_size}, limit));
    }
  }

 private:
  struct Limit {
    double cap_w = 0;
    double best_ms = 0;
  };

  JudgedChoice judged(const SettingCost& chosen, const Limit& limit) const {
    const ProfileCell& cell = *target_.find(chosen.mode, chosen.batch_size);
    const double time_ms = cell.minibatch_ms * truth_.samples / cell.batch_size;
    return {100 * (time_ms / limit.best_ms - 1), std::max(0.0, cell.power_w - limit.cap_w)};
  }

  const Profile& target_;
  TradeOff truth_;
  std::vector<Limit> limits_;
};

constexpr std::array<Strategy, 4> kStrategies = {Strategy::highest, Strategy::random,
                                                 Strategy::afresh, Strategy::transferred};

}  // namespace

std::string_view strategy_name(Strategy strategy) {
  switch (strategy) {
    case Strategy::highest:
      return "MAXN";
    case Strategy::random:
      return "RND";
    case Strategy::afresh:
      return "NN";
    case Strategy::transferred:
      break;
  }
  return "PowerTrain";
}

const ProfileCell* highest_cell(const Profile& target) {
  if (target.batch_sizes().empty()) return nullptr;
  const ProfileCell* const cell =
      target.find(target.knobs().highest(), target.batch_sizes().front());
  return cell != nullptr && cell->timed() ? cell : nullptr;
}

OptimizationRow judged_row(Strategy strategy, std::span<const JudgedChoice> choices) {
  OptimizationRow row;
  row.strategy = strategy;
  row.solutions = choices.size();
  std::vector<double> penalties;
  double over_w = 0;
  std::size_t over = 0;
  std::size_t over_by_1w = 0;
  for (const JudgedChoice& choice : choices) {
    penalties.push_back(choice.penalty_percent);
    over_w += choice.over_w;
    over += choice.over_w > 0 ? 1 : 0;
    over_by_1w += choice.over_w > 1 ? 1 : 0;
    row.over_by_most_w = std::max(row.over_by_most_w, choice.over_w);
  }
  const auto count = static_cast<double>(choices.size());
  row.penalty_percent = quartiles(std::move(penalties));
  row.area_w = over_w / count;
  row.over_percent = 100 * static_cast<double>(over) / count;
  row.over_by_1w_percent = 100 * static_cast<double>(over_by_1w) / count;
  return row;
}

std::vector<OptimizationRow> compare_optimization(const NetworkModule& module,
                                                  const Predictor& reference,
                                                  std::span<const Profile> targets,
                                                  const OptimizationOptions& options) {
  check_draws(reference, targets, std::span(&options.modes, 1), options.repeats,
              options.training.seed);
  std::vector<OptimizationRow> rows;
  std::size_t done = 0;
  for (const Profile& target : targets) {
    const std::vector<std::size_t> cells = timed_cells(target);
    std::vector<PredictedSetting> settings;
    for (const std::size_t cell : cells) {
      settings.push_back({target.cells()[cell].mode, target.cells()[cell].batch_size});
    }
    const Judge judge(target, options.caps_w);
    if (judge.limits() == 0) {
      done += options.repeats;
      continue;
    }
    std::array<std::vector<JudgedChoice>, kStrategies.size()> choices;
    judge.judge_highest(choices[0]);
    for (std::size_t repeat = 0; repeat < options.repeats; ++repeat) {
      TrainingOptions training = options.training;
      training.seed += repeat;
      const std::vector<std::size_t> drawn = draw_cells(cells, options.modes, training.seed);
      judge.judge(trade_off(part_of(target, drawn)), choices[1]);
      const auto believed = [&](const Predictor& predictor) {
        return trade_off(
            predicted_profile(module, predictor, target.device, target.knobs(), settings));
      };
      judge.judge(believed(train_predictor(module, target, drawn, training)), choices[2]);
      judge.judge(believed(transfer_predictor(module, reference, target, drawn, training)),
                  choices[3]);
      if (options.progress) options.progress(++done, targets.size() * options.repeats);
    }
    for (std::size_t i = 0; i < kStrategies.size(); ++i) {
      if (choices[i].empty()) continue;
      OptimizationRow row = judged_row(kStrategies[i], choices[i]);
      row.device = target.device;
      row.workload = target.workload;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace gearshift
