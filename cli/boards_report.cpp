#include "cli/boards_report.h"

#include <spdlog/fmt/fmt.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "actuators/knob_control.h"
#include "cli/boottime_clock.h"
#include "cli/select_board.h"
#include "sensors/open.h"
#include "sensors/open_battery.h"

namespace gearshift {
namespace {

using Json = nlohmann::ordered_json;

std::string with_unit(Unit unit, const std::string& text) {
  const std::string_view name = unit_name(unit);
  return name.empty()            ? text
         : unit == Unit::percent ? text + "%"
                                 : fmt::format("{} {}", text, name);
}

// "1, 2, 3 and 4" is no more useful than "1 to 4, 4 values", so only short tables are spelt out.
std::string values_text(const Knob& knob) {
  constexpr std::size_t kMostSpelt = 4;
  std::string text;
  if (knob.values.size() > kMostSpelt) {
    text = describe_value(knob.unit, knob.values.front()) + " to " +
           describe_value(knob.unit, knob.values.back());
    return fmt::format("{}, {} values", with_unit(knob.unit, text), knob.values.size());
  }
  for (const std::int64_t value : knob.values) {
    text += (text.empty() ? "" : ", ") + describe_value(knob.unit, value);
  }
  return with_unit(knob.unit, text);
}

KnobReport examine_knob(const KnobDescription& described, Sysroot& root) {
  KnobReport report{.described = described, .live = {}, .now = {}, .text = {}};
  try {
    const std::unique_ptr<KnobControl> control = open_knob(described, root, report.text);
    report.live = control->knob();
    report.now = control->read();
  } catch (const std::runtime_error& error) {
    report.live.reset();
    report.text = error.what();
  }
  return report;
}

// As an actuator of the whole board does it.
void thin(std::vector<KnobReport>& knobs) {
  KnobSpace space;
  for (const KnobReport& knob : knobs) {
    if (knob.live) space.knobs.push_back(*knob.live);
  }
  const std::vector<std::string> thinned = thin_modes(space);
  std::size_t at = 0;
  for (KnobReport& knob : knobs) {
    if (!knob.live) continue;
    if (!thinned[at].empty()) {
      knob.live = space.knobs[at];
      knob.text += "; " + thinned[at];
    }
    ++at;
  }
}

Json values_json(const Knob& knob) {
  Json values = Json::array();
  for (const std::int64_t value : knob.values) {
    values.push_back(static_cast<double>(value) / unit_scale(knob.unit));
  }
  return values;
}

std::string knob_text(const KnobReport& knob) {
  const std::string& name = knob.described.knob.name;
  if (!knob.live) {
    return fmt::format(
        "  {:<18} absent: {}\n  {:<18}   board file: {}, driver {} {}\n", name, knob.text, "",
        values_text(knob.described.knob), driver_name(knob.described.driver),
        knob.described.gpu.empty() ? "in " + knob.described.path : "of GPU " + knob.described.gpu);
  }
  std::string text = fmt::format("  {:<18} {}", name, values_text(*knob.live));
  if (knob.now) {
    text += ", now " + with_unit(knob.live->unit, describe_value(knob.live->unit, *knob.now));
  }
  text += fmt::format("\n  {:<18}   {}\n", "", knob.text);
  if (knob.live->values != knob.described.knob.values) {
    text += fmt::format("  {:<18}   the board file says {}; this machine's own values are used\n",
                        "", values_text(knob.described.knob));
  }
  return text;
}

constexpr std::string_view kHowToAdd =
    "A board of your own, or one that is not here\n"
    "  1. Copy the nearest file of boards/*.toml; docs/boards.md explains each key.\n"
    "  2. Under [match], name the board as its device tree does (the list above).\n"
    "  3. Look at what it finds:  gearshift boards --explain --board FILE.toml\n"
    "  4. Run with it:            gearshift run --board FILE.toml --policy POLICY.lua\n";

}  // namespace

MachineReport examine_machine(const std::string& board, const std::string& gpu, Sysroot& root) {
  MachineReport report;
  Detection detection = detect_board(root, built_in_boards());
  report.evidence = std::move(detection.evidence);
  report.detected = detection.board->id;
  report.gpus = std::move(detection.gpus);
  report.asked = board;
  report.board = select_board(board, root, gpu);
  for (const KnobDescription& knob : report.board.knobs) {
    report.knobs.push_back(examine_knob(knob, root));
  }
  thin(report.knobs);
  const BoottimeClock clock;
  OpenedSensors sensors = open_sensors(report.board, root, clock);
  open_battery({}, root, sensors);  // as --battery auto would
  report.sensors = std::move(sensors.findings);
  report.power_is_estimate = sensors.power_is_estimate;
  return report;
}

std::string boards_text(std::span<const BoardDescription> boards, const Detection& detected) {
  std::string text;
  for (const BoardDescription& board : boards) {
    std::string knobs;
    for (const KnobDescription& knob : board.knobs) {
      knobs += (knobs.empty() ? "" : ", ") + knob.knob.name;
    }
    text += fmt::format("{} {:<26}{}\n  {:<26}{}\n", board.id == detected.board->id ? '*' : ' ',
                        board.id, board.name, "", knobs);
    if (!board.needs_gpu) continue;
    for (const GpuSummary& gpu : detected.gpus) {
      text += fmt::format("  {:<26}{}\n", "", describe(gpu));
    }
  }
  return text + "* is this machine. `gearshift boards --explain` says why, and what it offers.\n";
}

std::string machine_text(const MachineReport& report) {
  std::string text = "What this machine is\n";
  for (const std::string& line : report.evidence) text += "  " + line + "\n";
  if (report.asked != "auto") {
    text += fmt::format("  asked for: {}, {} ({})\n", report.board.id, report.board.name,
                        report.board.source);
  }
  text += "\nKnobs\n";
  for (const KnobReport& knob : report.knobs) text += knob_text(knob);
  text += "\nSensors\n";
  for (const std::string& line : report.sensors) text += "  " + line + "\n";
  if (report.power_is_estimate) text += "  power is an ESTIMATE, wholly or in part\n";
  return text + "\n" + std::string(kHowToAdd);
}

Json board_json(const BoardDescription& board) {
  Json out = {{"id", board.id},
              {"name", board.name},
              {"source", board.source},
              {"compatible", board.compatible},
              {"l4t_majors", board.l4t_majors},
              {"knobs", Json::array()},
              {"workloads", Json::array()}};
  for (const KnobDescription& knob : board.knobs) {
    out["knobs"].push_back({{"name", knob.knob.name},
                            {"driver", driver_name(knob.driver)},
                            {"path", knob.path},
                            {"values", values_json(knob.knob)}});
  }
  for (const auto& [name, workload] : board.workloads) {
    out["workloads"].push_back({{"name", name}, {"kind", kind_name(workload.kind)}});
  }
  return out;
}

Json gpus_json(std::span<const GpuSummary> gpus) {
  Json out = Json::array();
  for (const GpuSummary& gpu : gpus) {
    const auto watts = [](std::int64_t mw) {
      return static_cast<double>(mw) / unit_scale(Unit::mw);
    };
    Json entry = {{"index", gpu.index},
                  {"name", gpu.name},
                  {"uuid", gpu.uuid},
                  {"mig", gpu.mig},
                  {"power_w", watts(gpu.power_mw)}};
    if (gpu.limit) {
      entry["limit_least_w"] = watts(gpu.limit->least_mw);
      entry["limit_most_w"] = watts(gpu.limit->most_mw);
      entry["limit_default_w"] = watts(gpu.limit->default_mw);
    }
    out.push_back(std::move(entry));
  }
  return out;
}

Json machine_json(const MachineReport& report) {
  Json out = {{"evidence", report.evidence},    {"detected", report.detected},
              {"gpus", gpus_json(report.gpus)}, {"board", report.board.id},
              {"source", report.board.source},  {"knobs", Json::array()},
              {"sensors", report.sensors},      {"power_is_estimate", report.power_is_estimate}};
  for (const KnobReport& knob : report.knobs) {
    Json entry = {{"name", knob.described.knob.name}, {"absent", !knob.live.has_value()}};
    if (knob.live) entry["values"] = values_json(*knob.live);
    if (knob.live && knob.now) {
      entry["now"] = static_cast<double>(*knob.now) / unit_scale(knob.live->unit);
    }
    entry[knob.live ? "finding" : "reason"] = knob.text;
    out["knobs"].push_back(std::move(entry));
  }
  return out;
}

}  // namespace gearshift
