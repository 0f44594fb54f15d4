#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/explaining_recorder.h"

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

}  // namespace
}  // namespace gearshift
