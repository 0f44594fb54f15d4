// What `gearshift pareto` found, as text, as JSON and as a picture.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "controller/profile.h"
#include "policies/numerics/trade_off.h"

namespace gearshift {

// What a model learnt from.
struct LearntFrom {
  std::string device;
  std::string workload;
};

struct Pareto {
  std::string device;
  std::string workload;
  Kind kind = Kind::train;
  KnobSpace knobs;
  std::optional<TradeOff> measured;
  std::optional<TradeOff> predicted;  // of the same settings, where both are there
  std::optional<LearntFrom> model;    // beside predicted
  std::optional<double> cap_w;

  const TradeOff& any() const { return measured ? *measured : *predicted; }
};

// What a predicted setting was measured to cost; null where it was not.
const SettingCost* measured_cost(const Pareto& pareto, const SettingCost& predicted);

// "jetson-agx-orin mobnet, another workload" where the model is of another one, or of another
// board, than what is shown; else empty.
std::string other_model(const Pareto& pareto);

std::string pareto_text(const Pareto& pareto);
nlohmann::ordered_json pareto_json(const Pareto& pareto);
// Power and time of all settings, the fronts, and the choice for the cap: figure 10 of
// doi:10.1016/j.future.2024.07.001.
std::string pareto_svg(const Pareto& pareto);

}  // namespace gearshift
