#include "cli/recording_end.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

TEST(RecordingEnd, IsToldWhereItIsNotTheRuns) {
  EXPECT_EQ(recording_end_text("complete"), "it is complete");
  EXPECT_EQ(recording_end_text("database or disk is full"),
            "it ended before the run: database or disk is full");
  EXPECT_EQ(recording_end_text({}), "it has no end: the run was killed, or goes on");
  EXPECT_TRUE(is_complete("complete"));
  EXPECT_FALSE(is_complete("database or disk is full"));
  EXPECT_FALSE(is_complete({}));
}

TEST(RecordingState, IsToldWithWhenAndWhyItEnded) {
  RecordingState state;
  state.file = "/var/lib/run.db";
  state.bytes = 12'345'678;
  EXPECT_EQ(recording_state_text(state), "/var/lib/run.db, 12.3 MB");
  EXPECT_EQ(recording_state_json(state).dump(), R"({"file":"/var/lib/run.db","bytes":12345678})");
  state.end = "database or disk is full";
  state.ended_unix_ms = 1'795'930'157'500;
  EXPECT_EQ(recording_state_text(state),
            "/var/lib/run.db, 12.3 MB; ended at 2026-11-29T05:29:17Z: database or disk is full");
  EXPECT_EQ(recording_state_json(state)["ended_at"], "2026-11-29T05:29:17Z");
  state.ended_unix_ms = INT64_MAX;  // of whoever is at the socket
  EXPECT_NE(recording_state_text(state).find("9999-12-31T23:59:59Z"), std::string::npos);
}

}  // namespace
}  // namespace gearshift
