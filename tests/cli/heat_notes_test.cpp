#include "cli/heat_notes.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/cli/loop_tick.h"

namespace gearshift {
namespace {

using std::chrono::seconds;

// Keeps what the notes of zones said.
class KeptNotes : public Recorder {
 public:
  void tick(const TickInputs&) override {}
  void note(const Note& note) override {
    if (note.type == NoteType::temperature) notes.emplace_back(note.value, note.text);
  }
  void status(const Status&) override {}

  std::vector<std::pair<std::int64_t, std::string>> notes;
};

// Says of every bad reading that its file cannot be read.
class BrokenSensor : public Sensor {
 public:
  void read(Time, std::vector<Reading>&) override {}
  std::string explain(const Reading& reading) const override {
    if (reading.state == ReadingState::ok) return "";
    return "zone " + std::to_string(reading.channel) + " at /temp: EIO";
  }
};

class HeatNotesTest : public testing::Test {
 protected:
  Reading zone(std::uint8_t channel, ReadingState state, std::int64_t value_mc = 45'000) const {
    return {.quantity = Quantity::temperature,
            .state = state,
            .channel = channel,
            .value = value_mc,
            .taken = now_};
  }
  // One tick a second, as the loop makes it.
  void run(int for_s, ReadingState cpu, ReadingState gpu, std::int64_t gpu_mc = 45'000) {
    for (int i = 0; i < for_s; ++i) {
      now_ += seconds(1);
      const std::vector<Reading> readings = {zone(2, cpu), zone(5, gpu, gpu_mc)};
      loop_tick(notes_, limit_, now_, readings);
    }
  }

  Time now_{seconds(1000)};
  ThermalLimit limit_{{.zones = {{2, 90, "cpu-thermal"}, {5, 90, "gpu-thermal"}}}};
  BrokenSensor sensor_;
  KeptNotes kept_;
  HeatNotes notes_{kept_, &limit_, &sensor_};
};

TEST_F(HeatNotesTest, TellOnceWhichZoneFailedAndWhyAndOnceThatItIsBack) {
  run(5, ReadingState::ok, ReadingState::ok);
  run(10, ReadingState::ok, ReadingState::missing);
  EXPECT_TRUE(kept_.notes.empty());
  run(60, ReadingState::ok, ReadingState::missing);
  ASSERT_EQ(kept_.notes.size(), 1U);
  EXPECT_EQ(kept_.notes[0].first, 1);
  EXPECT_EQ(
      kept_.notes[0].second,
      "no temperature for 10 s, so the lowest mode is held: zone 5 at /temp: EIO; the way out, "
      "where that is for good: --thermal off, or a board file without this zone");
  run(60, ReadingState::ok, ReadingState::ok);
  ASSERT_EQ(kept_.notes.size(), 2U);
  EXPECT_EQ(kept_.notes[1].first, 0);
  EXPECT_EQ(kept_.notes[1].second, "temperature is known again: gpu-thermal");
}

TEST_F(HeatNotesTest, SayOfTwoZonesWhichIsStillLost) {
  run(5, ReadingState::ok, ReadingState::ok);
  run(20, ReadingState::missing, ReadingState::absurd);
  run(5, ReadingState::ok, ReadingState::absurd);
  ASSERT_EQ(kept_.notes.size(), 2U);
  EXPECT_EQ(kept_.notes[0].first, 2);
  EXPECT_EQ(kept_.notes[1].first, 1);
  EXPECT_EQ(
      kept_.notes[1].second,
      "temperature is known again: cpu-thermal; no temperature for 10 s, so the lowest mode "
      "is held: zone 5 at /temp: EIO; the way out, where that is for good: --thermal off, or a "
      "board file without this zone");
}

TEST_F(HeatNotesTest, SayWhyAValueIsNotBelieved) {
  run(5, ReadingState::ok, ReadingState::ok);
  run(20, ReadingState::ok, ReadingState::ok, 0);
  ASSERT_EQ(kept_.notes.size(), 1U);
  EXPECT_NE(kept_.notes[0].second.find("gpu-thermal: 0.0 C, which is what a failed sensor says"),
            std::string::npos)
      << kept_.notes[0].second;
}

TEST_F(HeatNotesTest, SayNothingOfABlockThatIsPoweredDown) {
  run(60, ReadingState::ok, ReadingState::off);
  EXPECT_TRUE(kept_.notes.empty());
}

TEST(HeatNotes, OfNoLimitAreNone) {
  KeptNotes kept;
  HeatNotes notes(kept, nullptr, nullptr);
  notes.tick({});
  notes.status({});
  EXPECT_TRUE(kept.notes.empty());
}

}  // namespace
}  // namespace gearshift
