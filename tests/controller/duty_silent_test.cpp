// A workload that does not wait as it was asked to, where the lowest mode is over the cap.
#include <gtest/gtest.h>

#include "controller/controller.h"
#include "tests/fakes/low_rig.h"
#include "tests/fakes/serving_rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;

// Training that takes up no command draws 10 W beside no requests, and requests 4 W more.
struct SilentRig : ServingRig {
  explicit SilentRig(std::int64_t cap_mw)
      : ServingRig(
            [](const PolicyContext&, const auto&) {
              return Request{Request::What::hold_safe, {}};
            },
            seconds(300), cap_mw) {
    hardware.values = {1, 300000};
    world.ignore_from = 8;
    server = &world.attach_server(seconds(1), 20);
    for (Duration time{}; time < seconds(300); time += milliseconds(100)) {
      world.at(time, [this] { hardware.extra_mw = server->waits ? 0 : 4'000; });
    }
  }
  FakeServer* server;
};

TEST(DutySilent, RequestsWaitWhereTrainingDoesNotAndTheMeanKeepsTheCap) {
  SilentRig rig(11'000);
  rig.run();
  EXPECT_LE(mean_w(rig, seconds(150), seconds(300)), 11.1);
  EXPECT_EQ(reports(rig, "does not wait"), 0U);
}

TEST(DutySilent, ASecondReportTellsOfWhoDoesNotWaitWherePowerStaysOverTheCap) {
  SilentRig rig(9'000);
  rig.run();
  EXPECT_EQ(reports(rig, "does not wait"), 1U);
  EXPECT_EQ(rig.world.published.phase, Phase::resting);
}

}  // namespace
}  // namespace gearshift
