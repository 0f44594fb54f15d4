// What `gearshift boards` found: the boards there are, and what this machine offers of one of them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "boards/sysroot.h"

namespace gearshift {

// One knob of the board file as this machine offers it.
struct KnobReport {
  KnobDescription described;
  std::optional<Knob> live;         // with the values that can be set here; nullopt: absent
  std::optional<std::int64_t> now;  // the value in force, in the knob's unit
  std::string text;                 // what was found where, or the reason for its absence
};

struct MachineReport {
  std::vector<std::string> evidence;  // of detection, step by step
  std::string detected;               // id of the detected board
  std::vector<GpuSummary> gpus;       // that were found
  std::string asked;                  // "auto", an id or a board file
  BoardDescription board;
  std::vector<KnobReport> knobs;
  std::vector<std::string> sensors;  // one sentence each, the battery's last
  bool power_is_estimate = false;
};

// Opens every knob and sensor of the board, for reading what they are now. Writes nothing and locks
// nothing, so it may run beside a daemon. `board` and `gpu` are as select_board takes them; throws
// as it does.
MachineReport examine_machine(const std::string& board, const std::string& gpu, Sysroot& root);

std::string boards_text(std::span<const BoardDescription> boards, const Detection& detected);
std::string machine_text(const MachineReport& report);
nlohmann::ordered_json board_json(const BoardDescription& board);
nlohmann::ordered_json machine_json(const MachineReport& report);
nlohmann::ordered_json gpus_json(std::span<const GpuSummary> gpus);

}  // namespace gearshift
