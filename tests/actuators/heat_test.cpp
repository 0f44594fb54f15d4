#include "actuators/heat.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "actuators/board_actuator.h"
#include "actuators/knob_session.h"
#include "tests/fakes/apply_knob.h"
#include "tests/fakes/directory_board.h"
#include "tests/fakes/manual_clock.h"

namespace gearshift {
namespace {

using fakes::apply_knob;
using fakes::DirectoryBoard;
using std::chrono::milliseconds;

class HeatTest : public testing::Test {
 protected:
  std::filesystem::path journal() const { return state_.at("/knobs.journal"); }
  void cooling(int number, const std::string& type, const std::string& state) const {
    const std::string folder = "/sys/class/thermal/cooling_device" + std::to_string(number);
    board_.put(folder + "/type", type);
    board_.put(folder + "/max_state", "20");
    board_.put(folder + "/cur_state", state);
  }
  // What the kernel shows of a limit of 2,201,600 kHz meanwhile.
  void heat() const {
    cooling(0, "cpufreq-cpu0", "3");
    board_.put(kMaximum, "1497600");
  }
  void cool() const {
    cooling(0, "cpufreq-cpu0", "0");
    board_.put(kMaximum, "2201600");
  }

  const std::string kMaximum = DirectoryBoard::policy(0) + "/scaling_max_freq";
  DirectoryBoard board_;
  fakes::TempTree state_;
  Sysroot root_{board_.root()};
  fakes::ManualClock clock_;
  const BoardActuatorOptions options_{.journal = journal(), .clock = &clock_};
};

TEST_F(HeatTest, IsToldByTheCoolingDevicesThatLowerLimits) {
  EXPECT_EQ(slowed_by_heat(root_), "") << "a board without any";
  int number = 0;
  for (const char* other : {"pwm-fan", "hot-surface-alert", "cpu-throttle-alert", "cpufreq", ""}) {
    cooling(number++, other, "2");
  }
  cooling(number++, "cpufreq-cpu0", "0");
  EXPECT_EQ(slowed_by_heat(root_), "");
  cooling(number++, "thermal-cpufreq-1", "nonsense");
  EXPECT_EQ(slowed_by_heat(root_), "");
  cooling(number++, "devfreq-17000000.gpu", "1");
  cooling(number++, "cpufreq-cpu4", "3");
  EXPECT_EQ(slowed_by_heat(root_),
            "cpufreq-cpu4 at state 3 of 20, devfreq-17000000.gpu at state 1 of 20");
  for (const char* kind : {"thermal-cpufreq-0", "thermal-devfreq-0", "Processor"}) {
    cooling(number, kind, "1");
    EXPECT_NE(slowed_by_heat(root_).find(kind), std::string::npos);
  }
}

TEST_F(HeatTest, HoldsTheFirstWriteBackUntilLimitsReadAsTheyWereSet) {
  heat();
  BoardActuator actuator(board_.description(), root_, options_);
  const std::size_t cpu = *actuator.knobs().find("cpu_mhz");
  const auto before = board_.bytes();
  EXPECT_EQ(actuator.write(cpu, 729'600), Progress::away);
  EXPECT_NE(actuator.take_complaint().find("cpufreq-cpu0 at state 3 of 20"), std::string::npos);
  clock_.time += milliseconds(700);
  EXPECT_EQ(actuator.write(*actuator.knobs().find("cpu_cores"), 4), Progress::away)
      << "all knobs are saved together";
  EXPECT_EQ(actuator.take_complaint(), "") << "told once";
  EXPECT_EQ(board_.bytes(), before);
  EXPECT_FALSE(std::filesystem::exists(journal()));

  cool();
  clock_.time += milliseconds(700);
  apply_knob(actuator, "cpu_mhz", 729'600);
  EXPECT_EQ(board_.get(kMaximum), "729600");
  EXPECT_EQ(actuator.take_complaint(), "heat slows the clocks down no more; knobs are set");
  cooling(0, "cpufreq-cpu0", "3");
  clock_.time += milliseconds(700);
  EXPECT_NE(actuator.write(cpu, 1'113'600), Progress::away) << "all is saved by now";
  actuator.restore();
  EXPECT_EQ(board_.get(kMaximum), "2201600");
}

TEST_F(HeatTest, HoldsItBackForAMinuteAtMostAndTellsWhatComesOfThat) {
  heat();
  BoardActuator actuator(board_.description(), root_, options_);
  const std::size_t cpu = *actuator.knobs().find("cpu_mhz");
  const Time begun = clock_.time;
  EXPECT_EQ(actuator.write(cpu, 729'600), Progress::away);
  actuator.take_complaint();
  clock_.time = begun + HeatWait::kMost - milliseconds(1);
  EXPECT_EQ(actuator.write(cpu, 729'600), Progress::away);
  EXPECT_EQ(actuator.take_complaint(), "");
  clock_.time = begun + HeatWait::kMost + milliseconds(500);
  EXPECT_NE(actuator.write(cpu, 729'600), Progress::away);
  EXPECT_NE(actuator.take_complaint().find("put back so"), std::string::npos);
  actuator.restore();
  EXPECT_EQ(board_.get(kMaximum), "1497600") << "as it was read";

  EXPECT_EQ(actuator.write(cpu, 729'600), Progress::away) << "nothing is saved any more";
}

TEST_F(HeatTest, HoldsNothingBackAgainWhereSavingFailed) {
  heat();
  BoardActuator actuator(board_.description(), root_, options_);
  const std::size_t cpu = *actuator.knobs().find("cpu_mhz");
  EXPECT_EQ(actuator.write(cpu, 729'600), Progress::away);
  actuator.take_complaint();
  cool();
  board_.put(kMaximum, "nonsense");
  clock_.time += milliseconds(700);
  EXPECT_THROW(actuator.write(cpu, 729'600), KnobError);
  EXPECT_NE(actuator.take_complaint(), "");
  heat();
  EXPECT_NE(actuator.write(cpu, 729'600), Progress::away) << "one wait, whatever becomes of it";
  EXPECT_EQ(actuator.take_complaint(), "");
}

TEST_F(HeatTest, HoldsNobodyBackWhoSavesNothing) {
  heat();
  BoardActuator owner(board_.description(), root_, {.journal = journal()});
  apply_knob(owner, "cpu_mhz", 729'600);
  BoardActuator beside(board_.description(), root_,
                       {.journal = journal(), .use = JournalUse::beside, .clock = &clock_});
  apply_knob(beside, "cpu_mhz", 1'113'600);
  EXPECT_EQ(board_.get(kMaximum), "1113600");
}

TEST_F(HeatTest, IsToldToWhoAsksAHelper) {
  heat();
  BoardActuator actuator(board_.description(), root_, options_);
  KnobSession session(actuator, root_, root_, "directory-board", 1234);
  session.serve({.sequence = 1, .verb = KnobVerb::hello, .value = kKnobProtocolVersion},
                clock_.time);
  const KnobRequest write{.sequence = 2, .verb = KnobVerb::write, .knob = 1, .value = 729'600};
  const auto waits = session.serve(write, clock_.time);
  EXPECT_EQ(waits->type, KnobAnswerType::away);
  EXPECT_NE(waits->text.find("cpufreq-cpu0"), std::string::npos);
  cool();
  clock_.time += milliseconds(700);
  EXPECT_EQ(session.serve(write, clock_.time)->type, KnobAnswerType::done);
}

}  // namespace
}  // namespace gearshift
