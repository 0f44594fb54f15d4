#include <gtest/gtest.h>

#include <string>

#include "actuators/board_actuator.h"
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

}  // namespace
}  // namespace gearshift
