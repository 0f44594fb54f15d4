#include <chrono>

#include "tests/simulator/board_fixture.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

// All that can be read of a board, links aside.
void append_tree(const BoardState& board, const std::string& folder, std::string& text) {
  const auto names = board.list(folder);
  for (const std::string& name : names.value()) {
    const std::string path = folder + '/' + name;
    const FileAttributes attributes = board.attributes(path).value();
    if (attributes.kind == NodeKind::folder) {
      append_tree(board, path, text);
    } else if (attributes.kind == NodeKind::file) {
      const FileText file = board.read(path);
      text += path + ' ' + std::to_string(file.error) + ' ' + file.text;
    }
  }
}

// A session with loads, knobs, faults and time passing in uneven steps.
std::string session(std::uint64_t seed) {
  BoardState board(built_in_board("jetson-agx-orin"), {.seed = seed, .lag = LagShape::first_order});
  Time now(std::chrono::hours(3));
  const std::string gpu = "/sys/class/devfreq/17000000.gpu/";
  const LoadHandle load = board.open_load();
  std::string text;
  for (int step = 0; step < 40; ++step) {
    board.advance(now += milliseconds(37 + 11 * (step % 7)));
    if (step == 3) board.write_load(load, "pid=1 name=lstm batch_size=8");
    if (step == 9) board.write(gpu + "max_freq", "1122000000");
    if (step == 15) board.write("/.virtual/faults/outside_writer", gpu + "max_freq 408000000 333");
    if (step == 21) board.write("/sys/devices/system/cpu/cpu6/online", "0");
    if (step == 27) board.write("/.virtual/faults/dead_channel", "VDD_CPU_CV");
    if (step == 33) board.close_load(load);
    append_tree(board, "", text);
  }
  return text;
}

TEST(BoardState, GivesEqualBytesForASeed) {
  const std::string first = session(11);
  EXPECT_GT(first.size(), 100'000u);
  EXPECT_EQ(session(11), first);
  EXPECT_NE(session(12), first);
}

}  // namespace
}  // namespace gearshift
