#include "cli/rationale_text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/goal_flags.h"
#include "cli/goal_limits.h"
#include "cli/json_recorder.h"
#include "cli/note_text.h"

namespace gearshift {
namespace {

using nlohmann::json;

std::string ago(Time then, Time now) { return fmt::format("{:.1f} s ago", seconds(now - then)); }

std::string setting_and_cost(const KnobSpace& space, const Observation& observation,
                             const Goal& goal) {
  return fmt::format("{}: {}", describe(space, observation.setting), describe(observation, goal));
}

// "predicted 52.1 ms a minibatch (time -4 %) and 27.3 W (power +2 %)": measured against it, where
// it was measured. Of a server whose requests come one by one the model has the power while it is
// busy, and what is measured is the mean over its pauses too.
std::string prediction_text(const std::optional<PredictedCost>& predicted, const Setting& setting,
                            const Observation* seen, const Goal& goal) {
  if (!predicted) return "";
  const auto deviation = [](const char* what, double measured, double expected) {
    if (measured <= 0 || expected <= 0) return std::string();
    const double percent = std::round(100 * (measured / expected - 1));
    return fmt::format(" ({} {:+.0f} %)", what, percent + 0.0);  // no "-0 %"
  };
  const double expected_ms = 1e3 * seconds(predicted->minibatch);
  const bool measured = seen != nullptr && seen->ok();
  const Cost* const cost = measured ? &seen->cost[index(seen->counted())] : nullptr;
  const bool pauses = goal.one_by_one && setting.batch_size[index(Kind::infer)] > 0;
  return fmt::format(
      "predicted {:.1f} ms a minibatch{} and {}{}", expected_ms,
      cost != nullptr ? deviation("time", 1e3 * seconds(cost->minibatch_mean), expected_ms) : "",
      watts(predicted->power_mw),
      pauses     ? " without pauses"
      : measured ? deviation("power", static_cast<double>(seen->power_mean_mw),
                             static_cast<double>(predicted->power_mw))
                 : "");
}

json to_json(const std::optional<PredictedCost>& predicted) {
  if (!predicted) return nullptr;
  return {{"minibatch_ms", 1e3 * seconds(predicted->minibatch)},
          {"power_w", static_cast<double>(predicted->power_mw) / 1e3}};
}

// "12 % less" of what the goal minimises; empty where it cannot be said.
std::string gain(double value, double now) {
  if (!std::isfinite(value) || !std::isfinite(now) || now <= 0) return "";
  return fmt::format(" ({:.1f} % {})", 100 * std::abs(1 - value / now),
                     value <= now ? "less" : "more");
}

// Whether settings can be told apart by what the goal minimises.
bool comparable(const Goal& goal) {
  return goal.objective != Objective::weighted || goal.has_reference();
}

std::string alternatives_text(const KnobSpace& space, const Rationale& rationale) {
  std::string text;
  const Observation* const held = rationale.held_cost();
  const double now = held != nullptr ? held->value(rationale.goal()) : 0;
  const auto line = [&](const std::string& head, const Alternative& other) {
    text += fmt::format("  {}: {}{}\n", head,
                        setting_and_cost(space, *other.observation, rationale.goal()),
                        gain(other.observation->value(rationale.goal()), now));
  };
  if (!comparable(rationale.goal())) return "  the reference, once it is measured\n";
  const Alternative best = rationale.best();
  if (best.observation != nullptr && held != nullptr && best.observation != held) {
    line("now, by what was measured", best);
  }
  if (const Alternative looser = rationale.looser(); looser.observation != nullptr) {
    line(fmt::format("a cap of {} or more", watts_upward(looser.cap_mw)), looser);
  }
  if (const Alternative tighter = rationale.tighter(); tighter.observation != nullptr) {
    line(fmt::format("a cap below {}", watts_upward(tighter.cap_mw)), tighter);
  } else if (held != nullptr && held->ok()) {
    text += fmt::format("  a cap below {}: nothing that was measured; the safe setting\n",
                        watts_upward(tighter.cap_mw));
  }
  const Holding holding = rationale.held.holding;
  // Nothing is chosen, by any objective.
  if (holding == Holding::safe || holding == Holding::fallback) return text;
  for (const Objective objective : {Objective::time, Objective::energy}) {
    const Alternative other = rationale.for_objective(objective);
    if (objective == rationale.goal().objective || other.observation == nullptr) continue;
    if (other.observation == held) continue;
    text += fmt::format("  objective {}: {}\n", objective_name(objective),
                        setting_and_cost(space, *other.observation, rationale.goal()));
  }
  return text;
}

// The goal under the cap that binds.
Goal capped_goal(const Rationale& rationale) {
  Goal goal = rationale.goal();
  goal.power_mw = rationale.cap.power_mw > 0 ? std::optional(rationale.cap.power_mw) : std::nullopt;
  return goal;
}

// Best first; what keeps the goal before what does not.
std::vector<const Tried*> sorted(const Rationale& rationale) {
  const Goal goal = capped_goal(rationale);
  std::vector<const Tried*> all;
  for (const Tried& one : rationale.tried()) all.push_back(&one);
  std::stable_sort(all.begin(), all.end(), [&](const Tried* a, const Tried* b) {
    const bool keeps_a = a->observation.keeps(goal);
    const bool keeps_b = b->observation.keeps(goal);
    if (keeps_a != keeps_b) return keeps_a;
    return a->observation.value(goal) < b->observation.value(goal);
  });
  return all;
}

std::string tried_text(const KnobSpace& space, const Rationale& rationale, std::size_t most) {
  const std::vector<const Tried*> all = sorted(rationale);
  const bool ordered = !all.empty() && comparable(rationale.goal());
  const Goal goal = capped_goal(rationale);
  std::string text = fmt::format("tried         {} setting{}{}\n", all.size(),
                                 all.size() == 1 ? "" : "s", ordered ? ", the best first" : "");
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) {
    const Observation& observation = all[i]->observation;
    const bool held = rationale.held_cost() == &observation;
    std::string broken;
    for (const BrokenLimit& one : broken_limits(observation, goal)) broken += ", " + one.why;
    const std::string predicted =
        prediction_text(all[i]->predicted, observation.setting, &observation, goal);
    text +=
        fmt::format("  {} {}{}{}{}\n", held ? '*' : ' ', setting_and_cost(space, observation, goal),
                    all[i]->times > 1 ? fmt::format(", measured {} times", all[i]->times) : "",
                    broken, predicted.empty() ? "" : "; " + predicted);
  }
  if (all.size() > most) text += fmt::format("    and {} more: --all\n", all.size() - most);
  return text;
}

json to_json(const KnobSpace& space, const Observation& observation, const Goal& goal,
             Known known) {
  json out = to_json(space, observation, goal);
  if (known == Known::all) return out;
  for (const char* field : {"power_max_w", "duration_s", "confidence"}) out[field] = nullptr;
  for (const Kind kind : {Kind::train, Kind::infer}) {
    const auto of_kind = out.find(std::string(kind_name(kind)));
    if (of_kind == out.end()) continue;
    for (const char* field :
         {"minibatch_ms_stddev", "minibatch_ms_p99", "fetch_stall_ms", "compute_ms"}) {
      (*of_kind)[field] = nullptr;
    }
  }
  return out;
}

json to_json(const KnobSpace& space, const Alternative& other, const Goal& goal, Known known) {
  if (other.observation == nullptr) return nullptr;
  return {{"cap_w", static_cast<double>(other.cap_mw) / 1e3},
          {"observation", to_json(space, *other.observation, goal, known)}};
}

std::string why_text(const Rationale::Held& held) {
  switch (held.holding) {
    case Holding::best:
      return "the best that was measured when the search was ended: " + held.why;
    case Holding::safe:
      return "the safe setting: " + held.why;
    case Holding::fallback:
      return "it stands in for a choice: " + held.why;
    case Holding::nothing:
    case Holding::choice:
      break;
  }
  return held.why;
}

json tried_json(const KnobSpace& space, const Rationale& rationale, Known known) {
  const Goal goal = capped_goal(rationale);
  json out = json::array();
  for (const Tried& one : rationale.tried()) {
    json entry = to_json(space, one.observation, goal, known);
    entry["times"] = one.times;
    entry["predicted"] = to_json(one.predicted);
    entry["needed_power_w"] = static_cast<double>(needed_power_mw(one.observation)) / 1e3;
    entry["breaks"] = json::array();
    for (const BrokenLimit& limit : broken_limits(one.observation, goal)) {
      entry["breaks"].push_back(limit.name);
    }
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace

std::string rationale_text(const KnobSpace& space, const Rationale& rationale, Time now,
                           std::size_t most_tried) {
  const Rationale::Held& held = rationale.held;
  std::string text;
  if (held.holding == Holding::nothing) {
    text += "holding       nothing yet\n";
  } else {
    text += fmt::format("holding       {}\nwhy           {}; {}\n", describe(space, held.setting),
                        why_text(held), ago(held.since, now));
    const Observation* const cost = rationale.held_cost();
    text += "cost          " +
            (cost != nullptr ? describe(*cost, rationale.goal()) : "not measured") + "\n";
    const std::string predicted =
        prediction_text(held.predicted, held.setting, cost, rationale.goal());
    if (!predicted.empty()) text += "model         " + predicted + "\n";
  }
  text += rationale.cap.power_mw > 0
              ? fmt::format("cap           {}, set by {} {}\n", cap_text(rationale.cap.power_mw),
                            rationale.cap.source, ago(rationale.cap.since, now))
              : "cap           none\n";
  if (!rationale.heat.empty()) text += "heat          " + rationale.heat + "\n";
  text += "objective     " + describe(rationale.goal()) +
          (comparable(rationale.goal()) ? "" : ", reference not measured yet");
  const bool unserved =
      held.holding != Holding::nothing && held.setting.batch_size[index(Kind::infer)] == 0;
  if (rationale.goal().objective == Objective::latency && unserved) text += kNobodysLatency;
  text += '\n';
  const std::string limits = limits_text(rationale.goal());  // each after a comma
  if (!limits.empty()) text += "limits        " + limits.substr(2) + "\n";
  if (rationale.battery.known()) {
    const Duration age = now - rationale.battery.taken;
    text += "battery       " + describe(rationale.battery, age) + "\n";
  }
  if (!rationale.plan.empty()) text += "plan          " + rationale.plan + "\n";
  text += tried_text(space, rationale, most_tried);
  const std::string alternatives = alternatives_text(space, rationale);
  if (!alternatives.empty()) text += "what would change the choice\n" + alternatives;
  return text;
}

std::string rationale_json(const KnobSpace& space, const Rationale& rationale, Time now,
                           Known known) {
  const Rationale::Held& held = rationale.held;
  const Goal& goal = rationale.goal();
  json out = {{"holding", holding_name(held.holding)},
              {"cap_w", nullptr},
              {"latency_ms", goal.latency ? json(1e3 * seconds(*goal.latency)) : json()},
              {"arrivals_per_s", goal.arrivals_per_s > 0 ? json(goal.arrivals_per_s) : json()},
              {"energy_limit_j", goal.energy_j ? json(*goal.energy_j) : json()},
              {"tried", tried_json(space, rationale, known)},
              {"best", to_json(space, rationale.best(), goal, known)},
              {"looser", to_json(space, rationale.looser(), goal, known)},
              {"tighter", to_json(space, rationale.tighter(), goal, known)}};
  out.update(to_json(goal));  // its own keys, and those of limits that there are
  if (held.holding != Holding::nothing) {
    out["setting"] = to_json(space, held.setting);
    out["why"] = held.why;
    out["held_for_s"] = seconds(now - held.since);
    out["predicted"] = to_json(held.predicted);
  }
  if (rationale.battery.known()) {
    out["battery"] = to_json(rationale.battery, now - rationale.battery.taken);
  }
  if (!rationale.plan.empty()) out["plan"] = rationale.plan;
  if (!rationale.heat.empty()) out["heat"] = rationale.heat;
  if (rationale.cap.power_mw > 0) {
    out["cap_w"] = static_cast<double>(rationale.cap.power_mw) / 1e3;
    out["cap_source"] = rationale.cap.source;
    out["cap_for_s"] = seconds(now - rationale.cap.since);
  }
  // Script text and limit sources come from outside: bytes that are no UTF-8 are replaced.
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace gearshift
