#include "controller/knob.h"

#include <gtest/gtest.h>

#include "tests/fakes/bent_board.h"

namespace gearshift {
namespace {

KnobSpace orin_like() {
  return {.knobs = {{.name = "cpu_cores",
                     .unit = Unit::count,
                     .knob_class = KnobClass::hotplug,
                     .values = {4, 8, 12}},
                    {.name = "gpu_mhz",
                     .unit = Unit::khz,
                     .knob_class = KnobClass::clock,
                     .values = {114750, 1300500}}}};
}

using fakes::mode_of;

TEST(Knob, DescribesValuesInTheUnitPeopleRead) {
  EXPECT_EQ(describe_value(Unit::khz, 1300500), "1300.5");
  EXPECT_EQ(describe_value(Unit::khz, 114750), "114.75");
  EXPECT_EQ(describe_value(Unit::khz, 1), "0.001");
  EXPECT_EQ(describe_value(Unit::mw, 30000), "30");
  EXPECT_EQ(describe_value(Unit::count, 12), "12");
  EXPECT_EQ(describe_value(Unit::percent, 250), "250");
  EXPECT_EQ(describe_value(Unit::count, 0), "0");
  EXPECT_EQ(describe_value(Unit::khz, -500), "-0.5");
}

// An outside writer may have set anything; the report must stay readable.
TEST(Knob, NeverDescribesAValueInScientificNotation) {
  EXPECT_EQ(describe_value(Unit::count, 100000), "100000");
  EXPECT_EQ(describe_value(Unit::khz, 100000000), "100000");
  EXPECT_EQ(describe_value(Unit::percent, 1000000), "1000000");
  EXPECT_EQ(describe_value(Unit::count, std::int64_t{1} << 62), "4611686018427387904");
}

TEST(Knob, NamesTheUnits) {
  EXPECT_EQ(unit_name(Unit::count), "");
  EXPECT_EQ(unit_name(Unit::khz), "MHz");
  EXPECT_EQ(unit_name(Unit::mw), "W");
  EXPECT_EQ(unit_name(Unit::percent), "%");
  EXPECT_EQ(unit_scale(Unit::khz), 1000.0);
  EXPECT_EQ(unit_scale(Unit::mw), 1000.0);
  EXPECT_EQ(unit_scale(Unit::count), 1.0);
  EXPECT_EQ(unit_scale(Unit::percent), 1.0);
}

TEST(KnobSpace, FindsAKnobByItsWholeName) {
  const KnobSpace space = orin_like();
  EXPECT_EQ(space.find("cpu_cores"), 0U);
  EXPECT_EQ(space.find("gpu_mhz"), 1U);
  EXPECT_EQ(space.find("gpu"), std::nullopt);
  EXPECT_EQ(space.find(""), std::nullopt);
}

TEST(KnobSpace, ContainsOnlyAllowedValues) {
  const KnobSpace space = orin_like();
  EXPECT_TRUE(space.contains(mode_of({4, 114750})));
  EXPECT_TRUE(space.contains(mode_of({8, 1300500})));
  EXPECT_FALSE(space.contains(mode_of({3, 114750}))) << "below the least";
  EXPECT_FALSE(space.contains(mode_of({13, 114750}))) << "above the most";
  EXPECT_FALSE(space.contains(mode_of({6, 114750}))) << "between two allowed values";
  EXPECT_FALSE(space.contains(mode_of({8, 1300501}))) << "one kHz off";
}

TEST(KnobSpace, ContainsOnlyModesWithOneValueAKnob) {
  const KnobSpace space = orin_like();
  EXPECT_FALSE(space.contains(mode_of({8})));
  EXPECT_FALSE(space.contains(mode_of({8, 114750, 0})));
  EXPECT_FALSE(space.contains(PowerMode{}));
}

TEST(KnobSpace, KnowsItsCornersAndItsSize) {
  const KnobSpace space = orin_like();
  EXPECT_EQ(space.lowest(), mode_of({4, 114750}));
  EXPECT_EQ(space.highest(), mode_of({12, 1300500}));
  EXPECT_EQ(space.mode_count(), 6U);
}

// A board on which nothing may be written still has one mode: the one it is in.
TEST(KnobSpace, OfNoKnobsHasOneEmptyMode) {
  const KnobSpace space;
  EXPECT_EQ(space.mode_count(), 1U);
  EXPECT_EQ(space.lowest(), PowerMode{});
  EXPECT_EQ(space.highest(), PowerMode{});
  EXPECT_TRUE(space.contains(PowerMode{}));
  EXPECT_EQ(space.describe(PowerMode{}), "");
}

TEST(KnobSpace, HoldsAsManyKnobsAsAModeHasValues) {
  KnobSpace space;
  for (std::size_t i = 0; i < kMaxKnobs; ++i) {
    Knob knob;
    knob.name = "knob_" + std::to_string(i);
    knob.values = {1, 2};
    space.knobs.push_back(knob);
  }
  EXPECT_EQ(space.mode_count(), 256U);
  EXPECT_EQ(space.highest().count, kMaxKnobs);
  EXPECT_EQ(space.highest().values[kMaxKnobs - 1], 2);
  EXPECT_TRUE(space.contains(space.highest()));
}

TEST(KnobSpace, DescribesAModeKnobByKnob) {
  EXPECT_EQ(orin_like().describe(mode_of({12, 1300500})), "cpu_cores=12 gpu_mhz=1300.5");
  EXPECT_EQ(orin_like().describe(mode_of({12})), "cpu_cores=12") << "a mode that is too short";
}

}  // namespace
}  // namespace gearshift
