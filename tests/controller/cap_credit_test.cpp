#include "controller/cap_credit.h"

#include <gtest/gtest.h>

#include "tests/fakes/rig.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const Setting kHeld = fakes::setting_of(fakes::kFast);
constexpr Time kStart{};

TEST(CapCredit, PaysWhatHasKeptTheCapForHalfAMinuteAndNothingEarlier) {
  CapCredit early;
  early.hold(kHeld, kStart);
  EXPECT_FALSE(early.pays(kStart + seconds(30) - milliseconds(1)));
  CapCredit credit;
  credit.hold(kHeld, kStart);
  EXPECT_TRUE(credit.pays(kStart + seconds(30)));
  credit.hold(kHeld, kStart + seconds(32));
  EXPECT_FALSE(credit.pays(kStart + seconds(61))) << "what was paid is spent";
}

TEST(CapCredit, PaysTwiceInARowHoweverLongItWasEarned) {
  CapCredit credit;
  credit.hold(kHeld, kStart);
  EXPECT_TRUE(credit.pays(kStart + minutes(60)));
  credit.hold(kHeld, kStart + minutes(60));
  EXPECT_TRUE(credit.pays(kStart + minutes(60)));
  credit.hold(kHeld, kStart + minutes(60));
  EXPECT_FALSE(credit.pays(kStart + minutes(60)));
}

TEST(CapCredit, CountsTheTimeThatTheSettingWasInForceAlone) {
  CapCredit credit;
  credit.hold(kHeld, kStart);
  credit.hold(kHeld, kStart + seconds(10));  // chosen again, it goes on
  credit.leave(kStart + seconds(20));
  credit.hold(kHeld, kStart + minutes(5));
  EXPECT_FALSE(credit.pays(kStart + minutes(5) + seconds(9)));
  credit.hold(kHeld, kStart + minutes(6));
  EXPECT_TRUE(credit.pays(kStart + minutes(6) + seconds(1))) << "20, 9 and 1 s";
}

TEST(CapCredit, IsOfOneSettingUnderOneCap) {
  CapCredit credit;
  credit.hold(kHeld, kStart);
  credit.hold(fakes::setting_of(fakes::kMiddle), kStart + minutes(5));
  EXPECT_FALSE(credit.pays(kStart + minutes(5) + seconds(29)));
  credit.hold(kHeld, kStart + minutes(6));
  credit.forget();
  EXPECT_FALSE(credit.pays(kStart + minutes(9)));
}

}  // namespace
}  // namespace gearshift
