#include "cli/summary_text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/goal_flags.h"
#include "cli/json_recorder.h"
#include "cli/note_text.h"

namespace gearshift {
namespace {

using nlohmann::json;

// Epoch 0 carries the bootstrap (cold caches, the framework's warm-up), so it is reported apart.
// An epoch that was cut short, or seen from its middle on, is left out of both means; of epoch 0
// what there is counts where none is complete: that of a server never ends.
struct EpochFigures {
  std::size_t count = 0;
  double elapsed_s = 0, fetch_stall_s = 0, compute_s = 0, energy_j = 0;

  void add(const Epoch& epoch) {
    ++count;
    elapsed_s += seconds(epoch.elapsed);
    fetch_stall_s += seconds(epoch.fetch_stall);
    compute_s += seconds(epoch.compute);
    energy_j += epoch.energy_j;
  }
  EpochFigures mean() const {
    const auto n = static_cast<double>(std::max<std::size_t>(count, 1));
    return {count, elapsed_s / n, fetch_stall_s / n, compute_s / n, energy_j / n};
  }
};

struct KindFigures {
  EpochFigures first;   // mean of the epochs 0, one a workload
  EpochFigures others;  // of those after them
};

KindFigures figures(const std::vector<Epoch>& epochs) {
  KindFigures result;
  const bool any_whole = std::any_of(epochs.begin(), epochs.end(), [](const Epoch& epoch) {
    return epoch.number == 0 && epoch.complete;
  });
  for (const Epoch& epoch : epochs) {
    const bool counts = epoch.complete || (epoch.number == 0 && !any_whole);
    if (counts) (epoch.number == 0 ? result.first : result.others).add(epoch);
  }
  result.first = result.first.mean();
  result.others = result.others.mean();
  return result;
}

std::string epoch_text(const EpochFigures& epoch) {
  return fmt::format("{:.2f} s (fetch stall {:.2f} s, compute {:.2f} s), {:.1f} J{}",
                     epoch.elapsed_s, epoch.fetch_stall_s, epoch.compute_s, epoch.energy_j,
                     epoch.count > 1 ? fmt::format(" (mean of {})", epoch.count) : "");
}

json epoch_json(const EpochFigures& epoch) {
  return {{"epochs", epoch.count},
          {"elapsed_s", epoch.elapsed_s},
          {"fetch_stall_s", epoch.fetch_stall_s},
          {"compute_s", epoch.compute_s},
          {"energy_j", epoch.energy_j}};
}

double late_percent(const Requests& requests) {
  return 100 * static_cast<double>(requests.late) /
         static_cast<double>(std::max<std::uint64_t>(1, requests.arrived));
}

}  // namespace

std::string summary_text(const SummaryInputs& inputs) {
  const Summary& summary = inputs.summary;
  const char* estimate = inputs.power_is_estimate ? " (estimate)" : "";
  std::string text = fmt::format("\nSummary of {:.1f} s\n", seconds(summary.duration));
  for (const Choice& choice : summary.choices) {
    std::string cap = choice.cap_mw > 0 ? "under " + cap_text(choice.cap_mw) : "without a cap";
    if (choice.goal.objective != Objective::time) cap += ", " + sought_text(choice.goal);
    text += fmt::format("  chosen {:<14} {}\n", cap, describe(inputs.space, choice.setting));
    text += fmt::format(
        "  {:<21} {}\n", "",
        choice.observation ? describe(*choice.observation, choice.goal) : "not measured");
    if (choice.held_instead) {
      text += fmt::format("  {:<21} held instead: {}\n", "",
                          describe(inputs.space, *choice.held_instead));
    }
  }
  if (summary.choices.empty())
    text += "  chosen                nothing: no policy came to a choice\n";
  text += fmt::format("  measurements          {}\n", summary.measurements);
  text +=
      fmt::format("  over the cap          {:.1f} s, {:.1f} J (the guard stepped in {} times)\n",
                  inputs.ledger.over_cap_s(), inputs.ledger.over_cap_j(), summary.guard_steps);
  if (const Requests& requests = inputs.ledger.requests(); requests.arrived > 0) {
    text += fmt::format(
        "  requests              {} arrived, {} answered, {} late ({:.2f} %, {} refused or "
        "dropped), "
        "slowest {:.0f} ms; acted on {} times\n",
        requests.arrived, requests.served, requests.late, late_percent(requests), requests.refused,
        1e3 * seconds(requests.latency_max), summary.latency_steps);
  }
  text += fmt::format("  energy                {:.1f} J{}\n", inputs.ledger.energy_j(), estimate);
  text +=
      summary.baseload_mw
          ? fmt::format("  idle baseload         {}{}\n", watts(*summary.baseload_mw), estimate)
          : "  idle baseload         not read: there was no power reading before a workload came\n";
  for (const Kind kind : {Kind::train, Kind::infer}) {
    const KindFigures epochs = figures(inputs.ledger.epochs(kind));
    if (epochs.first.count > 0) {
      text += fmt::format("  {} epoch 0         {}\n", kind_name(kind), epoch_text(epochs.first));
    }
    if (epochs.others.count > 0) {
      text += fmt::format("  {} epochs 1+       {}\n", kind_name(kind), epoch_text(epochs.others));
    }
  }
  if (summary.policy_errors > 0) {
    text += fmt::format("  policy errors         {}\n", summary.policy_errors);
  }
  return text;
}

json summary_json(const SummaryInputs& inputs) {
  const Summary& summary = inputs.summary;
  json out = {{"note", "summary"},
              {"duration_s", seconds(summary.duration)},
              {"measurements", summary.measurements},
              {"guard_steps", summary.guard_steps},
              {"over_cap_s", inputs.ledger.over_cap_s()},
              {"over_cap_j", inputs.ledger.over_cap_j()},
              {"energy_j", inputs.ledger.energy_j()},
              {"power_is_estimate", inputs.power_is_estimate},
              {"policy_errors", summary.policy_errors}};
  if (const Requests& requests = inputs.ledger.requests(); requests.arrived > 0) {
    out["requests"] = {{"arrived", requests.arrived},
                       {"served", requests.served},
                       {"late", requests.late},
                       {"late_percent", late_percent(requests)},
                       {"refused", requests.refused},
                       {"latency_max_ms", 1e3 * seconds(requests.latency_max)},
                       {"latency_steps", summary.latency_steps}};
  }
  out["baseload_w"] = summary.baseload_mw ? json(static_cast<double>(*summary.baseload_mw) / 1000.0)
                                          : json(nullptr);
  out["choices"] = json::array();
  for (const Choice& choice : summary.choices) {
    json entry = {{"setting", to_json(inputs.space, choice.setting)}};
    entry["cap_w"] =
        choice.cap_mw > 0 ? json(static_cast<double>(choice.cap_mw) / 1000.0) : json(nullptr);
    entry.update(to_json(choice.goal));
    entry["observation"] = choice.observation
                               ? to_json(inputs.space, *choice.observation, choice.goal)
                               : json(nullptr);
    entry["held_instead"] =
        choice.held_instead ? to_json(inputs.space, *choice.held_instead) : json(nullptr);
    out["choices"].push_back(entry);
  }
  for (const Kind kind : {Kind::train, Kind::infer}) {
    const auto& epochs = inputs.ledger.epochs(kind);
    if (epochs.empty()) continue;
    const KindFigures of_kind = figures(epochs);
    out[std::string(kind_name(kind)) + "_epochs"] = {{"epoch_0", epoch_json(of_kind.first)},
                                                     {"epochs_1_on", epoch_json(of_kind.others)}};
  }
  return out;
}

}  // namespace gearshift
