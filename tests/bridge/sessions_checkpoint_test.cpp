// Clients are asked to save their work, and what they answer becomes an event.
#include <gtest/gtest.h>

#include "tests/bridge/sessions_fixture.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SessionsCheckpoint : public SessionsTest {
 protected:
  WorkloadHandle attach_saving() {
    wire::Hello hello = frames::hello(Kind::train);
    hello.saves = true;
    receive("trainer", hello);
    EXPECT_TRUE(events.at(0).workload.saves);
    const WorkloadHandle handle = events.at(0).handle;
    events.clear();
    return handle;
  }
  void ask(WorkloadHandle handle, std::uint32_t checkpoint) {
    sessions.command(
        handle, {.sequence = checkpoint, .type = CommandType::checkpoint, .within = seconds(30)});
  }
};

TEST_F(SessionsCheckpoint, ReachesTheClientAndItsAnswerTheLoop) {
  const WorkloadHandle handle = attach_saving();
  ask(handle, 3);
  const auto asked = peers.last<wire::CheckpointRequest>("trainer");
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->checkpoint, 3u);
  EXPECT_EQ(asked->within, seconds(30));
  receive("trainer", wire::Saved{3, milliseconds(2100)});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::saved);
  EXPECT_EQ(events[0].handle, handle);
  EXPECT_EQ(events[0].set_sequence, 3u);
  EXPECT_EQ(events[0].text.view(), "2.1 s");
}

TEST_F(SessionsCheckpoint, AFailureIsToldInItsOwnWords) {
  ask(attach_saving(), 3);
  receive("trainer", wire::Unsaved{3, wire::MessageText("disk full")});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::unsaved);
  EXPECT_EQ(events[0].text.view(), "disk full");
}

TEST_F(SessionsCheckpoint, WhatNobodyAskedForAndASecondAnswerAreNoEvents) {
  const WorkloadHandle handle = attach_saving();
  receive("trainer", wire::Saved{1, seconds(1)});
  ask(handle, 3);
  receive("trainer", wire::Saved{2, seconds(1)});
  EXPECT_TRUE(events.empty());
  receive("trainer", wire::Saved{3, seconds(1)});
  receive("trainer", wire::Saved{3, seconds(1)});
  EXPECT_EQ(events.size(), 1u);
}

TEST_F(SessionsCheckpoint, LeavesTheSetInForceAlone) {
  const WorkloadHandle handle = attach_saving();
  sessions.command(handle, {5, 16, Run::both});
  ask(handle, 1);
  receive("trainer", wire::Applied{5, 16, Run::both});
  EXPECT_EQ(count(EventType::applied), 1);
}

}  // namespace
}  // namespace gearshift
