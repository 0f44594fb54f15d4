// Feeds parse_board with any bytes: nothing but a BoardFileError may come out, and what is accepted
// must be fit for use.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "boards/board_description.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const gearshift::BoardDescription board = gearshift::parse_board(text, "fuzz.toml");
    const gearshift::KnobSpace space = board.knob_space();
    if (space.size() == 0 || space.size() > gearshift::kMaxKnobs) std::abort();
    if (!space.contains(space.lowest()) || !space.contains(space.highest())) std::abort();
    // Ordering the modes also runs the model; large spaces would only make the fuzzer slow.
    if (gearshift::bounded_mode_count(space) <= 1024) {
      if (gearshift::modes_by_power(board, space).size() != space.mode_count()) std::abort();
    }
  } catch (const gearshift::BoardFileError&) {
    return 0;
  }
  return 0;
}
