// Which cores a count means on boards where some cannot be switched, or are not to be used.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actuators/knob_control.h"
#include "tests/fakes/directory_board.h"

namespace gearshift {
namespace {

using fakes::DirectoryBoard;
using Values = std::vector<std::int64_t>;

class CpuHotplugTest : public testing::Test {
 protected:
  std::unique_ptr<KnobControl> open(Values values = {1, 2, 4, 8, 12}) {
    KnobDescription description = board_.description().knobs[0];
    description.knob.values = std::move(values);
    return open_cpu_hotplug(description, root_, finding_);
  }
  std::string why_absent(Values values = {1, 2, 4, 8, 12}) {
    try {
      open(std::move(values));
    } catch (const KnobError& error) {
      return error.what();
    }
    return "";
  }
  // Writes until the knob is done, as the kernel would follow.
  void set(KnobControl& cores, std::int64_t value) {
    for (int writes = 0; writes < DirectoryBoard::kCores; ++writes) {
      if (cores.write(value, journal_) == Progress::done) break;
    }
    online_only_by_switch();
  }
  // The mask of the cores online; one without a file always is.
  void online_only_by_switch() {
    std::string mask;
    for (int core = 0; core < DirectoryBoard::kCores; ++core) {
      const std::string path = DirectoryBoard::cpu(core) + "/online";
      if (std::filesystem::exists(board_.at(path)) && board_.get(path) != "1") continue;
      mask += (mask.empty() ? "" : ",") + std::to_string(core);
    }
    board_.put(std::string(DirectoryBoard::kCpu) + "/online", mask);
  }
  void without_switch(int core) {
    board_.remove(DirectoryBoard::cpu(core) + "/online");
    online_only_by_switch();
  }

  DirectoryBoard board_;
  Sysroot root_{board_.root()};
  fakes::TempTree state_;
  KnobJournal journal_{root_, state_.at("/knobs.journal")};
  std::string finding_;
};

TEST_F(CpuHotplugTest, ACoreWithoutASwitchIsAlwaysOnlineAndCountedFirst) {
  without_switch(5);
  const auto cores = open({1, 2, 3, 4, 8, 12});
  EXPECT_EQ(cores->knob().values, (Values{2, 3, 4, 8, 12})) << "two of them never go";
  EXPECT_EQ(finding_, "12 cores below /sys/devices/system/cpu, 2 of them always online");
  EXPECT_EQ(cores->read(), 8);
  set(*cores, 3);
  EXPECT_EQ(board_.get("/sys/devices/system/cpu/online"), "0,1,5");
  EXPECT_EQ(cores->read(), 3);
  set(*cores, 2);
  EXPECT_EQ(board_.get("/sys/devices/system/cpu/online"), "0,5");
  EXPECT_EQ(cores->read(), 2);
  set(*cores, 12);
  EXPECT_EQ(cores->read(), 12);
}

TEST_F(CpuHotplugTest, CoresBeyondTheBoardFilesListAreNeverSwitchedOn) {
  const auto cores = open({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(cores->knob().values.back(), 6);
  EXPECT_EQ(finding_, "12 cores below /sys/devices/system/cpu, of which the board file uses 6");
  EXPECT_EQ(cores->read(), 8) << "two of them are online all the same";
  set(*cores, 6);
  EXPECT_EQ(cores->read(), 6);
  EXPECT_EQ(board_.get(DirectoryBoard::cpu(6) + "/online"), "0");
}

TEST_F(CpuHotplugTest, WhereTheFirstCoreIsOfflineTheKnobIsAbsent) {
  board_.put("/sys/devices/system/cpu/online", "1-7");
  EXPECT_EQ(why_absent(),
            "cpu0 is offline (/sys/devices/system/cpu/online: 1-7), and every count of cores "
            "begins with it");
}

TEST_F(CpuHotplugTest, WhereMoreCoresStayThanTheBoardFileCountsTheKnobIsAbsent) {
  without_switch(1);
  without_switch(2);
  EXPECT_EQ(why_absent({1, 2}),
            "3 cores below /sys/devices/system/cpu cannot be switched off, more than the board "
            "file counts");
}

}  // namespace
}  // namespace gearshift
