// Settings that are held and answer late: what is an accident, and what is to blame.
#include <gtest/gtest.h>

#include <vector>

#include "controller/controller.h"
#include "controller/rationale.h"
#include "tests/fakes/serving_rig.h"
#include "tests/fakes/told.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(LateHold, ALateHeldSettingIsBlamedTheSecondTimeAndAnotherOneIsTaken) {
  ServingRig rig(best_of(kThree), seconds(150));
  FakeServer& server = rig.world.attach_server(milliseconds(0), 40);
  // The fast mode alone is late now, whatever its times say.
  rig.world.at(seconds(40),
               [&rig, &server] { server.late_ms = rig.hardware.values[1] == 900000 ? 400 : 0; });
  for (int i = 400; i < 1500; ++i) {
    rig.world.at(milliseconds(100 * i),
                 [&rig, &server] { server.late_ms = rig.hardware.values[1] == 900000 ? 400 : 0; });
  }
  rig.run();
  EXPECT_EQ(rig.summary.latency_steps, 2U);
  EXPECT_EQ(rig.recorder.of(NoteType::hold).back().setting.mode, kMiddle);
  // Whoever is told knows as much: at which rate it was late, where that is held against it.
  const std::vector<KeptNote> late = rig.recorder.of(NoteType::late);
  ASSERT_EQ(late.size(), 2U);
  EXPECT_EQ(late[0].value, 0);
  EXPECT_NEAR(static_cast<double>(late[1].value) / 1e6, 41, 1.5);
  Rationale rationale;
  rationale.set_goal(rig.policy.goals.back());
  tell(rationale, rig.recorder.notes);
  ASSERT_NE(rationale.best().observation, nullptr);
  EXPECT_EQ(rationale.best().observation->setting.mode, kMiddle) << "it is what is held";
}

// Every 20 s a few requests, of 800: each time it is acted on, and nothing is to blame. So nothing
// is known that was not when it was chosen: a search began anew each time, a dozen measurements.
TEST(LateHold, AHeldSettingIsNotBlamedForAStallNowAndThen) {
  ServingRig rig(best_of(kThree), seconds(150));
  FakeServer& server = rig.world.attach_server(milliseconds(0), 40);
  for (int at = 40; at < 140; at += 20) {
    rig.world.at(seconds(at), [&server] { server.late_ms = 400; });
    rig.world.at(seconds(at) + milliseconds(300), [&server] { server.late_ms = 0; });
  }
  int starts = 0;
  rig.world.at(seconds(39), [&] { starts = rig.policy.starts; });
  rig.run();
  EXPECT_EQ(rig.policy.starts, starts);
  EXPECT_EQ(rig.recorder.of(NoteType::hold).size(), 6U);
  EXPECT_EQ(rig.summary.latency_steps, 5U);
  EXPECT_EQ(rig.recorder.of(NoteType::hold).back().setting.mode, kFast);
}

}  // namespace
}  // namespace gearshift
