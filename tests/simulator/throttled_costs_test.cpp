#include "simulator/throttled_costs.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_board.h"

namespace gearshift {
namespace {

using fakes::mode;

TEST(ThrottledCosts, CostsWhatTheClocksThatAreLeftCost) {
  Profile profile(fakes::two_knobs());
  profile.add({mode(4, 300000), 16, 100, 8, {}});
  profile.add({mode(4, 600000), 16, 60, 14, {}});
  profile.add({mode(4, 900000), 16, 40, 20, {}});
  const KnobSpace knobs = profile.knobs();
  const ProfileCosts costs(profile, Missing::refuse);
  const ThrottledCosts throttled(costs, knobs, 0.7);  // of 900 MHz 630, of 600 MHz 420
  ASSERT_TRUE(throttled.cost(mode(4, 900000), 16));
  EXPECT_EQ(throttled.cost(mode(4, 900000), 16)->minibatch_ms, 60);
  EXPECT_EQ(throttled.cost(mode(4, 900000), 16)->power_w, 14);
  EXPECT_EQ(throttled.cost(mode(4, 600000), 16)->minibatch_ms, 100);
  EXPECT_EQ(throttled.cost(mode(4, 300000), 16)->minibatch_ms, 100) << "the lowest stays";
  EXPECT_FALSE(throttled.cost(mode(1, 900000), 16)) << "what cannot be set cannot be throttled";
}

}  // namespace
}  // namespace gearshift
