#include <gtest/gtest.h>

#include <string>

#include "actuators/board_actuator.h"
#include "actuators/knob_control.h"
#include "tests/fakes/apply_knob.h"
#include "tests/fakes/directory_board.h"

namespace gearshift {
namespace {

using fakes::DirectoryBoard;

// JetPack 4 and 5 have nvpmodel's limit elsewhere.
TEST(MemoryClock, RaisesTheCapOfOlderJetPacksToo) {
  const std::string cap = "/sys/kernel/nvpmodel_emc_cap/emc_iso_cap";
  DirectoryBoard board;
  fakes::TempTree state;
  board.remove(DirectoryBoard::kCap);
  board.put(cap, "2133000000");
  Sysroot root(board.root());
  BoardActuator actuator(board.description(), root, {state.at("/knobs.journal")});
  fakes::apply_knob(actuator, "mem_mhz", 3199000);
  EXPECT_EQ(board.get(cap), "3199000000");
  actuator.restore();
  EXPECT_EQ(board.get(cap), "2133000000");
}

TEST(MemoryClock, WhatIsNoClockInItsTableIsNoValue) {
  const DirectoryBoard board;
  board.put("/sys/kernel/debug/bpmp/debug/emc/possible_rates", "0 204000 20000001 3199000 (kHz)");
  Sysroot root(board.root());
  std::string finding;
  const auto control = open_knob(board.description().knobs[3], root, finding);
  EXPECT_EQ(control->knob().values, (std::vector<std::int64_t>{204000, 3199000}));
  EXPECT_NE(finding.find("no clock"), std::string::npos) << finding;
}

}  // namespace
}  // namespace gearshift
