// That a batch does not fit into memory shows once it runs: what a workload says of it after it has
// applied the command.
#include <gtest/gtest.h>

#include "tests/bridge/sessions_fixture.h"

namespace gearshift {
namespace {

wire::Refused refused(std::uint32_t set, std::string_view code = "memory") {
  return {set, wire::Text(code), wire::MessageText("no room")};
}

class SessionsRefusedTest : public SessionsTest {
 protected:
  // Asked for so many samples, which are in force now; of 8, 16 and 32.
  void apply(std::uint32_t set, std::int32_t batch_size) {
    sessions.command(handle, {set, batch_size, Run::both});
    receive("a", wire::Applied{set, batch_size, Run::both});
    events.clear();
  }
  WorkloadHandle handle = attach("a");
};

TEST_F(SessionsRefusedTest, ForMemoryAfterItWasAppliedTheNextSmallerSizeIsInForce) {
  apply(1, 32);
  receive("a", refused(1));
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].type, EventType::applied);
  EXPECT_EQ(events[0].handle, handle);
  EXPECT_EQ(events[0].set_sequence, 1U);
  EXPECT_EQ(events[0].batch_size, 16);
  EXPECT_EQ(events[1].type, EventType::refused);
  EXPECT_EQ(events[1].handle, handle);
  EXPECT_EQ(events[1].set_sequence, 1U);
  EXPECT_EQ(events[1].batch_size, 32);
  EXPECT_EQ(events[1].text.view(), "memory: no room");
}

TEST_F(SessionsRefusedTest, ActsOnceAndForTheNewestCommandAlone) {
  apply(1, 32);
  receive("a", refused(1));
  events.clear();
  receive("a", refused(1));
  apply(2, 16);
  receive("a", refused(1));
  EXPECT_TRUE(events.empty());
  receive("a", refused(2));
  EXPECT_EQ(count(EventType::refused), 1);
}

TEST_F(SessionsRefusedTest, AfterItWasAppliedForNothingButMemory) {
  apply(1, 32);
  for (const auto* code : {"batch_size", "run", "other"}) receive("a", refused(1, code));
  EXPECT_TRUE(events.empty());
}

TEST_F(SessionsRefusedTest, OfTheSmallestSizeOnceItWasAppliedChangesNothing) {
  apply(1, 8);
  receive("a", refused(1));
  EXPECT_TRUE(events.empty()) << "there is nothing to go back to";
}

TEST_F(SessionsRefusedTest, OfNoCommandIsNone) {
  receive("a", refused(0));
  EXPECT_TRUE(events.empty());
}

}  // namespace
}  // namespace gearshift
