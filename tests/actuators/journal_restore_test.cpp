#include "actuators/journal_restore.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fakes/directory_board.h"

namespace gearshift {
namespace {

using fakes::DirectoryBoard;

int pauses = 0;
void count_pause() { ++pauses; }
constexpr RestorePatience kCounted{.pauses = 3, .pause = count_pause};

// That a busy one is waited for is shown with a kernel that says so:
// tests/process/test_guardian.py.
TEST(PutBack, WaitsForNoFileThatIsNotBusyAndTellsWhatTheKernelAnswered) {
  const DirectoryBoard board;
  Sysroot root(board.root());
  const std::string gone = DirectoryBoard::cpu(7) + "/online";
  const std::vector<SavedEntry> entries = {
      {SavedRole::core_online, gone, "1"},
      {SavedRole::limit_max, DirectoryBoard::gpu("max_freq"), "1109250000"},
      {SavedRole::limit_min, DirectoryBoard::gpu("min_freq"), "306000000"}};
  board.remove(gone);
  pauses = 0;
  RestoreReport report;
  const std::vector<SavedEntry> failed = put_back(root, entries, kCounted, report);
  EXPECT_EQ(pauses, 0);
  EXPECT_EQ(failed, std::vector<SavedEntry>{entries[0]});
  ASSERT_EQ(report.failed.size(), 1u);
  EXPECT_NE(report.failed[0].find("wrote 1 (No such file or directory), reads nothing"),
            std::string::npos)
      << report.failed[0];
  EXPECT_EQ(board.get(DirectoryBoard::gpu("max_freq")), "1109250000");
}

}  // namespace
}  // namespace gearshift
