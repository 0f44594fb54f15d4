#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/explaining_recorder.h"
#include "tests/cli/loop_tick.h"

namespace gearshift {
namespace {

using std::chrono::seconds;

// Keeps what the notes of plans said.
class KeptPlans : public Recorder {
 public:
  void tick(const TickInputs&) override {}
  void note(const Note& note) override {
    if (note.type == NoteType::plan) texts.emplace_back(note.text);
  }
  void status(const Status&) override {}

  std::vector<std::string> texts;
};

Event attached() {
  Event event;
  event.type = EventType::attached;
  event.workload.handle = 1;
  event.workload.managed = true;
  event.workload.name = BoundedText<64>("resnet18");
  return event;
}

TEST(PlanNotes, TellAtOnceThatThereIsAPlanAtLast) {
  BatteryLimit limit({.aim = BatteryAim::progress}, [](const Workload&) {
    Setting setting;
    setting.mode.count = 1;
    return WorkPrediction{.front = {{setting, {10, 100}}}, .of = {}};
  });
  KeptPlans kept;
  PlanNotes notes(kept, &limit);
  const auto tell = [&](Time now, std::int64_t energy_mj) {
    limit.read({.quantity = Quantity::battery_capacity,
                .state = ReadingState::ok,
                .value = 36'000'000,
                .taken = now});
    limit.read({.quantity = Quantity::battery_energy,
                .state = ReadingState::ok,
                .value = energy_mj,
                .taken = now});
    limit.limit(now);
    Status status;
    status.time = now;
    notes.status(status);
  };
  tell(Time(seconds(1)), 36'000'000);
  limit.consume(attached());
  tell(Time(seconds(2)), 36'000'000);
  tell(Time(seconds(20)), 35'800'000);
  ASSERT_EQ(kept.texts.size(), 2U);
  EXPECT_NE(kept.texts[0].find("no plan"), std::string::npos) << kept.texts[0];
  EXPECT_EQ(kept.texts[1].find("no plan"), std::string::npos) << kept.texts[1];
  tell(Time(seconds(70)), 35'300'000);
  EXPECT_EQ(kept.texts.size(), 3U) << "a minute later it is another";
}

class PlanNotesTest : public testing::Test {
 protected:
  // Says of every bad reading that its file cannot be read.
  class BrokenGauge : public Sensor {
   public:
    void read(Time, std::vector<Reading>&) override {}
    std::string explain(const Reading& reading) const override {
      if (reading.state == ReadingState::ok) return "";
      return reading.quantity == Quantity::battery_energy ? "battery at /BAT0: energy_now: EIO"
                                                          : "battery at /BAT0: voltage_now: EIO";
    }
  };

  static WorkPrediction prediction(const Workload&) {
    Setting setting;
    setting.mode.count = 1;
    return {.front = {{setting, {10, 100}}}, .of = {}};
  }
  PlanNotesTest() {
    trainer_.workload.samples_per_epoch = 1000;
    limit_.consume(trainer_);
  }
  // One tick a second, as the loop makes it.
  void run(int for_s, double energy_wh, ReadingState state = ReadingState::ok) {
    for (int i = 0; i < for_s; ++i) {
      now_ += seconds(1);
      const auto energy_mj = static_cast<std::int64_t>(3.6e6 * energy_wh);
      const std::vector<Reading> readings = {
          {Quantity::battery_capacity, ReadingState::ok, false, 0, 36'000'000, now_},
          {Quantity::battery_energy, state, false, 0, energy_mj, now_}};
      loop_tick(notes_, limit_, now_, readings);
    }
  }
  const std::string& last() const { return kept_.texts.back(); }

  Time now_{seconds(1000)};
  Event trainer_ = attached();
  BatteryLimit limit_{{.aim = BatteryAim::finish, .epochs = 100}, prediction};
  BrokenGauge gauge_;
  KeptPlans kept_;
  PlanNotes notes_{kept_, &limit_, &gauge_};
};

// 100 epochs take 1000 s and 10 kJ, which are 2.8 Wh above the reserve of 2.
TEST_F(PlanNotesTest, TellAtOnceThatAPlanFallsShort) {
  run(2, 5.5);
  ASSERT_EQ(limit_.plan().shortfall, Shortfall::none);
  ASSERT_EQ(kept_.texts.size(), 1U);
  double energy_wh = 5.5;
  for (int i = 0; i < 40 && limit_.plan().shortfall == Shortfall::none; ++i) {
    run(1, energy_wh -= 0.02);
  }
  ASSERT_EQ(limit_.plan().shortfall, Shortfall::energy);
  ASSERT_EQ(kept_.texts.size(), 2U);
  EXPECT_NE(last().find("too little energy"), std::string::npos) << last();
}

// 100 epochs take 667 s at 20 W, and 1000 s at 10.
TEST_F(PlanNotesTest, TellAtOnceThatAPlanFallsShortWithinOthersCaps) {
  limit_ = BatteryLimit(
      {.aim = BatteryAim::finish, .epochs = 100, .until = seconds(900)}, [](const Workload&) {
        Setting setting;
        setting.mode.count = 1;
        return WorkPrediction{.front = {{setting, {10, 100}}, {setting, {20, 150}}}, .of = {}};
      });
  limit_.consume(trainer_);
  run(6, 9);
  ASSERT_EQ(kept_.texts.size(), 1U);
  EXPECT_EQ(last().find("too little"), std::string::npos) << last();
  limit_.hear({.others_mw = 10'000});
  run(6, 9);
  ASSERT_EQ(limit_.plan_within_others().value().shortfall, Shortfall::time);
  ASSERT_EQ(limit_.plan().shortfall, Shortfall::none);
  ASSERT_EQ(kept_.texts.size(), 2U) << "with the next plan, not a minute later";
  EXPECT_NE(last().find("while another cap leaves no more, "), std::string::npos) << last();
  limit_.hear({.others_mw = 18'000});
  run(20, 9);
  ASSERT_EQ(limit_.plan_within_others().value().shortfall, Shortfall::none);
  EXPECT_EQ(kept_.texts.size(), 2U) << "that it does no more may wait";
  run(40, 9);
  EXPECT_EQ(kept_.texts.size(), 3U);
}

TEST_F(PlanNotesTest, SayOfAGaugeThatIsLateWhatIsLeftAndWhy) {
  run(5, 9);
  run(31, 9, ReadingState::missing);
  ASSERT_EQ(kept_.texts.size(), 2U);
  EXPECT_TRUE(
      last().ends_with("; the gauge was last read 31 s ago: 8.14 Wh are surely left; "
                       "battery at /BAT0: energy_now: EIO"))
      << last();
  EXPECT_EQ(notes_.text(), last());
  run(1, 8.9);
  ASSERT_EQ(kept_.texts.size(), 3U) << "and that it is read again";
  EXPECT_EQ(last().find("gauge"), std::string::npos) << last();
}

TEST_F(PlanNotesTest, SayThatWhatAGaugeTellsIsNotBelieved) {
  run(5, 5);
  run(40, 9.5);
  EXPECT_NE(last().find("it tells 9.50 Wh now, which is not believed"), std::string::npos)
      << last();
}

TEST_F(PlanNotesTest, SayWhyNothingWasEverReadOfTheBattery) {
  run(1, 0, ReadingState::absurd);
  ASSERT_EQ(kept_.texts.size(), 1U);
  EXPECT_EQ(last(),
            "unknown: the battery's energy was never read; battery at /BAT0: energy_now: EIO");
}

}  // namespace
}  // namespace gearshift
