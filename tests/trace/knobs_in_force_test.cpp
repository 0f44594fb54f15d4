#include "trace/knobs_in_force.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kCores = 0;
constexpr std::uint32_t kClock = 1;

Time at(std::int64_t ms) { return Time{} + milliseconds(ms); }

KnobCall read(std::uint32_t knob, std::int64_t value) {
  KnobCall call;
  call.knob = knob;
  call.value = value;
  return call;
}

KnobCall write(std::uint32_t knob, std::int64_t value, std::optional<Time> wrote = {},
               KnobOutcome outcome = KnobOutcome::done) {
  KnobCall call = read(knob, value);
  call.action = KnobAction::write;
  call.outcome = outcome;
  call.wrote = wrote;
  return call;
}

struct KnobsInForceTest : testing::Test {
  // A tick of 100 ms.
  void tick(const std::vector<KnobCall>& calls = {}, const std::vector<NoteType>& notes = {}) {
    RecordedTick tick;
    tick.number = ++ticks;
    tick.now = at(100 * tick.number);
    for (const KnobCall& call : calls) tick.knob_calls.push_back({call, {}});
    for (const NoteType type : notes) tick.notes.emplace_back().type = type;
    knobs.see(tick);
  }
  // "4 600", with a dash for one that cannot be read; empty where nobody can tell.
  std::string during(std::int64_t begin_ms, std::int64_t end_ms) const {
    const KnobsInForce::Values* values = knobs.during(at(begin_ms), at(end_ms));
    if (values == nullptr) return {};
    std::string text;
    for (const std::uint32_t knob : {kCores, kClock}) {
      const auto value = (*values)[knob];
      text += (text.empty() ? "" : " ") + (value ? std::to_string(*value) : "-");
    }
    return text;
  }
  // 4 cores at 600 from 100 ms on.
  void begin() {
    tick({read(kCores, 4), read(kClock, 300), write(kClock, 600), read(kClock, 600)});
  }

  KnobsInForce knobs{5};
  std::int64_t ticks = 0;
};

TEST_F(KnobsInForceTest, AreUnknownBeforeTheFirstOneWasRead) {
  tick();
  EXPECT_EQ(during(20, 90), "");
  begin();
  EXPECT_EQ(during(120, 190), "");
  tick();
  EXPECT_EQ(during(200, 300), "4 600");
  EXPECT_EQ(during(199, 300), "");
}

TEST_F(KnobsInForceTest, MoveWhenTheyAreWritten) {
  begin();
  tick();
  tick({write(kClock, 900), read(kClock, 900)});
  EXPECT_EQ(during(220, 300), "4 600");
  tick();
  EXPECT_EQ(during(220, 300), "4 600") << "told of late";
  EXPECT_EQ(during(290, 310), "");
  EXPECT_EQ(during(300, 400), "4 900");
}

TEST_F(KnobsInForceTest, MoveUntilTheLastWriteIsSurelyOver) {
  begin();
  // The first write is over by 240, and so the other one has begun by then: no later than 260.
  tick(
      {write(kClock, 900, at(220)), write(kCores, 2, at(240)), read(kCores, 2), read(kClock, 900)});
  tick();
  EXPECT_EQ(during(150, 200), "4 600");
  EXPECT_EQ(during(150, 201), "");
  EXPECT_EQ(during(259, 300), "");
  EXPECT_EQ(during(260, 300), "2 900");
}

TEST_F(KnobsInForceTest, AreWhatTheyReadBackAndNotWhatWasWritten) {
  begin();
  tick({write(kClock, 900), write(kCores, 3, {}, KnobOutcome::failed)});
  tick();
  EXPECT_EQ(during(150, 300), "4 600") << "nothing moved";
  tick({write(kClock, 900), read(kClock, 700)});
  tick();
  EXPECT_EQ(during(410, 500), "4 700");
}

TEST_F(KnobsInForceTest, MoveFromOutsideBetweenTheTickThatSeesItAndItsNeighbours) {
  begin();
  tick();
  tick({read(kClock, 300), write(kClock, 600)});  // throttled: it stays so
  tick();
  EXPECT_EQ(during(150, 200), "4 600");
  EXPECT_EQ(during(190, 210), "");
  EXPECT_EQ(during(300, 400), "4 300");
  tick({read(kClock, 600)});
  tick();
  EXPECT_EQ(during(350, 400), "4 300");
  EXPECT_EQ(during(410, 490), "");
  EXPECT_EQ(during(510, 590), "") << "when in the tick it was read is not told";
  tick();
  EXPECT_EQ(during(600, 700), "4 600");
}

TEST_F(KnobsInForceTest, AreUnknownWhileCoresMove) {
  begin();
  tick({write(kClock, 300), write(kCores, 2, {}, KnobOutcome::more)});
  tick({write(kCores, 2)});
  EXPECT_EQ(during(110, 200), "4 600");
  tick();
  EXPECT_EQ(during(210, 290), "");
  // They were called back, and read what they had read before.
  EXPECT_EQ(during(310, 400), "4 600");
  tick({write(kCores, 2, {}, KnobOutcome::more)});
  tick();
  EXPECT_EQ(during(510, 590), "") << "one that waits";
  tick({write(kCores, 2, {}, KnobOutcome::away)});
  tick({write(kCores, 2), read(kCores, 2)});
  tick();
  EXPECT_EQ(during(610, 690), "");
  EXPECT_EQ(during(810, 900), "2 600");
}

TEST_F(KnobsInForceTest, AreUnknownWhileAModeWaitsAndNoneIsRead) {
  begin();
  tick({}, {NoteType::setting});  // waits for lighter batches
  tick();
  tick();
  tick();
  tick({read(kClock, 300), write(kClock, 900), read(kClock, 900)});  // throttled meanwhile
  tick();
  EXPECT_EQ(during(110, 200), "4 600");
  EXPECT_EQ(during(210, 300), "");
  EXPECT_EQ(during(300, 500), "");
  EXPECT_EQ(during(510, 590), "");
  EXPECT_EQ(during(600, 700), "4 900");
}

TEST_F(KnobsInForceTest, AreKnownAgainOnceAModeIsInForceThatMovedNone) {
  begin();
  tick({}, {NoteType::setting});
  tick();
  tick({}, {NoteType::applied});  // all read what they had read before
  tick();
  tick();
  EXPECT_EQ(during(210, 390), "");
  EXPECT_EQ(during(500, 600), "4 600");
  tick({}, {NoteType::applied, NoteType::setting});  // the next one waits in turn
  tick();
  EXPECT_EQ(during(610, 690), "4 600");
  EXPECT_EQ(during(710, 790), "");
  tick({}, {NoteType::setting, NoteType::applied});
  tick();
  EXPECT_EQ(during(1000, 1000), "4 600");
}

TEST_F(KnobsInForceTest, OfASettingThatWritesAtOnceAreKnownAtOnce) {
  begin();
  tick({write(kClock, 900), read(kClock, 900)}, {NoteType::setting});
  tick();
  EXPECT_EQ(during(200, 300), "4 900");
}

TEST_F(KnobsInForceTest, ThatCannotBeReadLeaveTheOthersKnown) {
  begin();
  KnobCall unknown = read(kClock, 0);
  unknown.known = false;
  tick({unknown});
  tick();
  tick();
  EXPECT_EQ(during(310, 400), "4 -");
}

TEST_F(KnobsInForceTest, OfOldFormatsMoveAtSomeTimeOfTheTick) {
  knobs = KnobsInForce(3);
  begin();
  tick();
  tick();
  EXPECT_EQ(during(110, 190), "");
  EXPECT_EQ(during(200, 300), "4 600");
}

}  // namespace
}  // namespace gearshift
