// Monitors whose files take a conversion of the chip to read, as on JetPack 5.
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "sensors/ina3221.h"
#include "tests/fakes/directory_board.h"

namespace gearshift {
namespace {

using fakes::DirectoryBoard;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Asked at the begin and at the end of each read, which takes 430 ms.
class ClockOfReads : public Clock {
 public:
  Time now() const override { return now_ += milliseconds(215); }
  void set(Time now) { now_ = now; }

 private:
  mutable Time now_{seconds(100)};
};

// Which files of the monitors were read, in order.
class Reads {
 public:
  explicit Reads(const DirectoryBoard& board) {
    for (const auto& [path, text] : board.bytes()) {
      if (!path.starts_with("/sys/class/hwmon/") || !path.ends_with("_input")) continue;
      const std::string name = path.substr(path.rfind('/') + 1);
      names_[inotify_add_watch(inotify_, board.at(path).c_str(), IN_ACCESS)] =
          (path.find("hwmon4") == std::string::npos ? "" : "4/") + name.substr(0, name.find('_'));
    }
  }
  ~Reads() { close(inotify_); }
  Reads(const Reads&) = delete;
  Reads& operator=(const Reads&) = delete;

  // Since the last call.
  std::string take() {
    std::string order;
    alignas(inotify_event) std::array<char, 65536> buffer;
    for (ssize_t size = 0; (size = ::read(inotify_, buffer.data(), buffer.size())) > 0;) {
      for (const char* at = buffer.data(); at < buffer.data() + size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(at);
        order += (order.empty() ? "" : " ") + names_[event->wd];
        at += sizeof(inotify_event) + event->len;
      }
    }
    return order;
  }

 private:
  int inotify_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  std::map<int, std::string> names_;
};

class Ina3221InTurn : public testing::Test {
 protected:
  void open(const PowerDescription& power) {
    std::vector<std::string> findings;
    sensor_ = Ina3221::open(power, root_, findings, &clock_);
    ASSERT_TRUE(sensor_);
  }
  void open() { open(board_.description().power); }

  std::vector<Reading> read(Time now) {
    clock_.set(now);
    std::vector<Reading> readings;
    sensor_->read(now, readings);
    return readings;
  }

  DirectoryBoard board_;
  Sysroot root_{board_.root()};
  ClockOfReads clock_;
  std::unique_ptr<Ina3221> sensor_;
};

constexpr Time kStart{seconds(101)};

TEST_F(Ina3221InTurn, ATotalTakesItsCurrentsAloneAndTheRestTakesTurns) {
  open();
  Reads reads(board_);
  std::vector<std::string> rounds;
  for (int i = 0; i < 12; ++i) {
    read(kStart + i * seconds(2));
    rounds.push_back(reads.take());
  }
  const std::string currents = "curr3 curr2 curr1";
  EXPECT_EQ(rounds, (std::vector<std::string>{currents, currents, "in1 " + currents, currents,
                                              "in2 " + currents, currents, "in3 " + currents,
                                              currents, "4/in2 " + currents, currents,
                                              "4/curr2 " + currents, currents}));
}

TEST_F(Ina3221InTurn, WhereOneRailIsTheTotalARoundIsOneRead) {
  PowerDescription power = board_.description().power;
  power.rails = {{"VDD_GPU_SOC", 1}, {"VDD_CPU_CV", 0}};
  open(power);
  Reads reads(board_);
  for (int i = 0; i < 4; ++i) read(kStart + i * seconds(1));
  EXPECT_EQ(reads.take(), "curr1") << "four times, which are told as one";
  EXPECT_EQ(read(kStart + seconds(4)).at(0).value, 7600);
  EXPECT_EQ(reads.take(), "in1 curr1");
}

// What came in between would pass for a total of now.
TEST_F(Ina3221InTurn, ATotalIsAsOldAsItsOldestCurrent) {
  open();
  board_.put(DirectoryBoard::hwmon("curr1_input"), "500");
  const std::vector<Reading> readings = read(kStart);
  ASSERT_EQ(readings.size(), 5u);
  EXPECT_EQ(readings[0].value, 9500 + 3800 + 4500);
  EXPECT_EQ(readings[3].taken, kStart + milliseconds(410)) << "VIN_SYS_5V0";
  EXPECT_EQ(readings[2].taken, readings[3].taken + milliseconds(430));
  EXPECT_EQ(readings[1].taken, readings[2].taken + milliseconds(430)) << "what moves most is last";
  EXPECT_EQ(readings[0].taken, readings[3].taken);
  EXPECT_EQ(readings[4].value, 300) << "VDDQ_VDD2_1V8AO, as it was found";
}

TEST_F(Ina3221InTurn, AVoltageThatCannotBeReadIsWhatItWasUntilThatIsTooOld) {
  open();
  read(kStart);
  board_.put(DirectoryBoard::hwmon("in1_input"), "");
  const Time found = Time(seconds(100));
  for (Time now = kStart + seconds(2); now < found + seconds(60); now += seconds(2)) {
    EXPECT_EQ(read(now)[0].value, 15900);
  }
  std::vector<Reading> readings = read(found + seconds(70));
  EXPECT_EQ(readings[1].state, ReadingState::missing);
  EXPECT_EQ(readings[0].state, ReadingState::missing);
  EXPECT_EQ(
      sensor_->explain(readings[0]),
      "VDD_GPU_SOC at " + board_.at(DirectoryBoard::hwmon("in1_input")).string() + ": ENODATA");
  board_.put(DirectoryBoard::hwmon("in1_input"), "19000");
  EXPECT_EQ(read(found + seconds(72))[0].value, 15900);
}

// It would stand for many seconds.
TEST_F(Ina3221InTurn, AVoltageThatJumpsIsReadTwice) {
  open();
  const auto totals = [this](std::string_view voltage) {
    board_.put(DirectoryBoard::hwmon("in1_input"), voltage);
    std::vector<std::int64_t> values;
    for (int i = 0; i < 4; ++i) values.push_back(read(kStart)[0].value);
    return values;
  };
  using Values = std::vector<std::int64_t>;
  EXPECT_EQ(totals("7600"), (Values{15900, 15900, 15900, 15900})) << "it may be lower";
  board_.put(DirectoryBoard::hwmon("in1_input"), "19000");
  EXPECT_EQ(read(kStart)[0].value, 15900) << "and was not";
  for (int i = 0; i < 7; ++i) read(kStart);
  EXPECT_EQ(totals("21000")[3], 16700) << "back to its turn, it may be higher";
}

TEST_F(Ina3221InTurn, ACurrentThatCannotBeReadIsNotWhatItWas) {
  open();
  const Reading whole = read(kStart)[0];
  board_.put(DirectoryBoard::hwmon("curr2_input"), "");
  std::vector<Reading> readings = read(kStart + milliseconds(500));
  EXPECT_EQ(readings[2].state, ReadingState::missing);
  EXPECT_EQ(readings[0].taken, whole.taken) << "the total repeats the last whole one";
  EXPECT_EQ(read(kStart + seconds(3))[0].state, ReadingState::missing);
  board_.put(DirectoryBoard::hwmon("curr2_input"), "300");
  EXPECT_EQ(read(kStart + seconds(4))[0].value, 15900 + 1900);
}

}  // namespace
}  // namespace gearshift
