#include "cli/pareto_report.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "boards/board_description.h"

namespace gearshift {
namespace {

using Json = nlohmann::ordered_json;

std::string setting_text(const Pareto& pareto, const SettingCost& cost) {
  return pareto.knobs.describe(cost.mode) + " batch=" + std::to_string(cost.batch_size);
}

std::string cost_text(const SettingCost& cost) {
  return fmt::format("{:.2f} ms, {:.2f} W", cost.time_ms, cost.power_w);
}

// At most this many lines of a front, evenly spread, the ends among them: JSON has all.
constexpr std::size_t kMostLines = 15;

std::string front_text(const Pareto& pareto, const TradeOff& costs,
                       std::span<const std::size_t> front, std::string_view title) {
  const std::size_t lines = std::min(front.size(), kMostLines);
  std::string out = fmt::format("\n{}: {} setting{} that no other one beats in both", title,
                                front.size(), front.size() == 1 ? "" : "s");
  out += lines < front.size() ? fmt::format(", {} of them:\n", lines) : ":\n";
  out += fmt::format("{:>12} {:>10} {:>12}  setting\n", "time ms", "power W", "energy J");
  for (std::size_t line = 0; line < lines; ++line) {
    const std::size_t at = lines == 1 ? 0 : line * (front.size() - 1) / (lines - 1);
    const SettingCost& cost = costs.settings[front[at]];
    out += fmt::format("{:>12.2f} {:>10.2f} {:>12.4f}  {}\n", cost.time_ms, cost.power_w,
                       cost.energy_j, setting_text(pareto, cost));
  }
  return out;
}

std::string fronts_text(const Pareto& pareto, const TradeOff& costs, const std::string& how) {
  return front_text(pareto, costs, costs.power_and_time, "Power and time, " + how) +
         front_text(pareto, costs, costs.energy_and_time, "Energy and time, " + how);
}

// How the setting that was chosen by prediction turns out.
std::string verdict(const Pareto& pareto, const SettingCost& measured) {
  const double over_w = measured.power_w - *pareto.cap_w;
  std::string out = over_w > 0 ? fmt::format("{:.2f} W over the cap", over_w) : "within the cap";
  if (const auto best = fastest_under(*pareto.measured, *pareto.cap_w)) {
    const double penalty = measured.time_ms / pareto.measured->settings[*best].time_ms - 1;
    out += fmt::format(", {:.1f} % {} than the best", 100 * std::abs(penalty),
                       penalty < 0 ? "faster" : "slower");
  }
  return out;
}

std::string choice_text(const Pareto& pareto) {
  if (!pareto.cap_w) return "";
  std::string out = fmt::format("\nThe fastest at {:g} W or less\n", *pareto.cap_w);
  const auto line = [&](const TradeOff& costs, std::string_view how) {
    const auto choice = fastest_under(costs, *pareto.cap_w);
    if (!choice) {
      out += fmt::format("  {}: no setting draws so little\n", how);
      return;
    }
    const SettingCost& cost = costs.settings[*choice];
    out += fmt::format("  {}: {}: {}\n", how, setting_text(pareto, cost), cost_text(cost));
    const SettingCost* const measured =
        &costs == &*pareto.predicted && pareto.measured ? measured_cost(pareto, cost) : nullptr;
    if (measured == nullptr) return;
    out += fmt::format("             and measured there: {}: {}\n", cost_text(*measured),
                       verdict(pareto, *measured));
  };
  if (pareto.measured) line(*pareto.measured, "measured ");
  if (pareto.predicted) line(*pareto.predicted, "predicted");
  return out;
}

Json cost_json(const SettingCost& cost) {
  return {{"time_ms", cost.time_ms}, {"power_w", cost.power_w}, {"energy_j", cost.energy_j}};
}

Json setting_json(const Pareto& pareto, const TradeOff& costs, std::size_t index) {
  const SettingCost& cost = costs.settings[index];
  Json out = Json::object();
  for (std::size_t i = 0; i < pareto.knobs.size(); ++i) {
    const Knob& knob = pareto.knobs.knobs[i];
    out[knob.name] = static_cast<double>(cost.mode.values[i]) / unit_scale(knob.unit);
  }
  out["batch_size"] = cost.batch_size;
  out.update(cost_json(cost));
  if (pareto.predicted && &costs == &*pareto.predicted) {
    const SettingCost* const measured = measured_cost(pareto, cost);
    if (measured != nullptr) out["measured"] = cost_json(*measured);
  }
  return out;
}

Json costs_json(const Pareto& pareto, const TradeOff& costs) {
  const auto all = [&](std::span<const std::size_t> front) {
    Json out = Json::array();
    for (const std::size_t index : front) out.push_back(setting_json(pareto, costs, index));
    return out;
  };
  Json out = {{"settings", costs.settings.size()},
              {"power_and_time", all(costs.power_and_time)},
              {"energy_and_time", all(costs.energy_and_time)}};
  if (pareto.cap_w) {
    const auto choice = fastest_under(costs, *pareto.cap_w);
    out["choice"] = choice ? setting_json(pareto, costs, *choice) : Json();
  }
  return out;
}

}  // namespace

const SettingCost* measured_cost(const Pareto& pareto, const SettingCost& predicted) {
  if (!pareto.measured) return nullptr;
  const std::vector<SettingCost>& settings = pareto.measured->settings;
  const auto found = std::find_if(settings.begin(), settings.end(), [&](const SettingCost& one) {
    return one.mode == predicted.mode && one.batch_size == predicted.batch_size;
  });
  return found == settings.end() ? nullptr : &*found;
}

std::string other_model(const Pareto& pareto) {
  if (!pareto.model) return "";
  const bool device = !is_same_board(pareto.model->device, pareto.device);
  const bool workload = pareto.model->workload != pareto.workload;
  if (!device && !workload) return "";
  return fmt::format("{} {}, another {}{}{}", pareto.model->device, pareto.model->workload,
                     device ? "board" : "", device && workload ? " and " : "",
                     workload ? "workload" : "");
}

std::string pareto_text(const Pareto& pareto) {
  std::string out =
      fmt::format("{} {}, {}: {} settings; time and energy are of {} sample{}\n", pareto.device,
                  pareto.workload, kind_name(pareto.kind), pareto.any().settings.size(),
                  pareto.any().samples, pareto.any().samples == 1 ? "" : "s");
  const std::string other = other_model(pareto);
  if (!other.empty()) out += "what is predicted is by a model of " + other + '\n';
  if (pareto.measured) out += fronts_text(pareto, *pareto.measured, "measured");
  if (pareto.predicted) out += fronts_text(pareto, *pareto.predicted, "predicted");
  return out + choice_text(pareto);
}

Json pareto_json(const Pareto& pareto) {
  Json out = {{"device", pareto.device},
              {"workload", pareto.workload},
              {"kind", kind_name(pareto.kind)},
              {"samples", pareto.any().samples}};
  if (pareto.model) {
    out["model"] = {{"device", pareto.model->device}, {"workload", pareto.model->workload}};
  }
  if (pareto.cap_w) out["cap_w"] = *pareto.cap_w;
  if (pareto.measured) out["measured"] = costs_json(pareto, *pareto.measured);
  if (pareto.predicted) out["predicted"] = costs_json(pareto, *pareto.predicted);
  return out;
}

}  // namespace gearshift
