#include "controller/outside_writes.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

using std::chrono::seconds;

TEST(OutsideWrites, AreToldOfOnceWhileTheyGoOn) {
  OutsideWrites writes;
  const OutsideWrite write{.knob = 1, .ours = 612, .theirs = 816};
  EXPECT_TRUE(writes.add(write, Time{}));
  for (int s = 1; s < 60; ++s) EXPECT_FALSE(writes.add(write, Time{} + seconds(s)));
  EXPECT_FALSE(writes.add(write, Time{} + seconds(68)));
  EXPECT_TRUE(writes.add(write, Time{} + seconds(78))) << "after ten seconds of rest";
}

TEST(OutsideWrites, AreToldOfAgainWhereTheyAreOthers) {
  OutsideWrites writes;
  writes.add({.knob = 1, .ours = 612, .theirs = 816}, Time{});
  EXPECT_TRUE(writes.add({.knob = 1, .ours = 612, .theirs = 918}, Time{} + seconds(1)));
  EXPECT_TRUE(writes.add({.knob = 2, .ours = 612, .theirs = 918}, Time{} + seconds(2)));
  EXPECT_FALSE(writes.add({.knob = 2, .ours = 816, .theirs = 918}, Time{} + seconds(3)))
      << "what we had set is not their doing";
}

TEST(OutsideWrites, ShowForASpanAfterTheNewest) {
  OutsideWrites writes;
  EXPECT_FALSE(writes.wrote_within(seconds(5), Time{})) << "nobody has";
  const OutsideWrite write{.knob = 1, .ours = 612, .theirs = 816};
  writes.add(write, Time{} + seconds(1));
  EXPECT_TRUE(writes.wrote_within(seconds(5), Time{} + seconds(6)));
  EXPECT_FALSE(writes.wrote_within(seconds(5), Time{} + seconds(7)));
  writes.add(write, Time{} + seconds(7));
  EXPECT_TRUE(writes.wrote_within(seconds(5), Time{} + seconds(12))) << "told of or not";
}

}  // namespace
}  // namespace gearshift
