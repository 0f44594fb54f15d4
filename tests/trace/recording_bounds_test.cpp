// What flags allow can be recorded, and is read back; what is beyond is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "tests/trace/recorded_run.h"
#include "trace/recording_reader.h"

namespace gearshift {
namespace {

using fakes::change_file;
using fakes::error_of;
using fakes::RecordedRun;
using std::chrono::hours;
using std::chrono::seconds;

struct RecordingBounds : testing::Test {
  RecordingBounds() {
    run.report_requests(seconds(5));
    run.run();
  }
  // What the reader says of the recording once `sql` has changed it.
  std::string said_of(const std::string& sql) {
    change_file(run.file, sql);
    return error_of(run.file);
  }
  // The largest reading of the recording.
  std::int64_t most_mj() {
    RecordingReader reader(run.file);
    RecordedTick tick;
    std::int64_t most = 0;
    while (reader.next(tick)) {
      for (const Reading& reading : tick.readings) most = std::max(most, reading.value);
    }
    return most;
  }
  RecordedRun run;
};

TEST_F(RecordingBounds, ABatteryMayHoldAMegawattHour) {
  const std::string one_mwh =
      "UPDATE readings SET quantity = 'battery_energy', value = 3600000000000";
  EXPECT_EQ(said_of(one_mwh), "no error");
  EXPECT_EQ(most_mj(), 3'600'000'000'000);
  EXPECT_EQ(said_of("UPDATE readings SET quantity = 'battery_capacity', value = 1 << 53"),
            "no error");
  EXPECT_NE(said_of("UPDATE readings SET value = (1 << 53) + 1"), "no error");
  EXPECT_NE(said_of("UPDATE readings SET quantity = 'power', value = 3600000000000"), "no error");
}

TEST_F(RecordingBounds, ALatencyLimitMayBeAYear) {
  const auto nanoseconds = [](hours time) { return std::to_string(Duration(time).count()); };
  EXPECT_EQ(said_of("UPDATE workloads SET latency_ns = " + nanoseconds(hours(8784))), "no error");
  EXPECT_NE(said_of("UPDATE workloads SET latency_ns = " + nanoseconds(hours(8785))), "no error");
}

}  // namespace
}  // namespace gearshift
