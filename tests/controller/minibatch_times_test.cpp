#include "controller/minibatch_times.h"

#include <gtest/gtest.h>

#include <vector>

namespace gearshift {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

MinibatchTimes of(const std::vector<Duration>& elapsed, std::int32_t batch_size = 16) {
  MinibatchTimes times;
  for (const Duration one : elapsed) {
    Minibatch minibatch;
    minibatch.elapsed = one;
    minibatch.batch_size = batch_size;
    times.add(minibatch);
  }
  return times;
}

TEST(MinibatchTimes, AreTheSlowestButOneAsTheSlowestMayHaveBeenStopped) {
  EXPECT_EQ(MinibatchTimes().expected(16), Duration::zero());
  EXPECT_EQ(of({seconds(1), seconds(3)}).expected(16), seconds(3));
  EXPECT_EQ(of({seconds(1), seconds(3), seconds(2)}).expected(16), seconds(2));
  EXPECT_EQ(of({seconds(1), seconds(3), hours(1), seconds(2)}).expected(16), seconds(3));
}

// A process that was stopped twice, and a setting in which three and more are slow.
TEST(MinibatchTimes, ForgetStopsButNoSlowSetting) {
  std::vector<Duration> elapsed = {milliseconds(100), minutes(3), minutes(3)};
  elapsed.resize(1'000, milliseconds(100));
  EXPECT_EQ(of(elapsed).patience(16, seconds(20)), seconds(20));
  elapsed[500] = elapsed[900] = elapsed[960] = minutes(3);
  EXPECT_EQ(of(elapsed).patience(16, seconds(20)), seconds(20));
  elapsed[940] = minutes(3);
  EXPECT_EQ(of(elapsed).patience(16, seconds(20)), minutes(30)) << "the newest come often";
  elapsed.assign({seconds(1), seconds(60), seconds(59), seconds(61)});
  elapsed.resize(1'000, seconds(1));
  EXPECT_EQ(of(elapsed).expected(16), seconds(59));
}

TEST(MinibatchTimes, CountAPartOfTheFirstUntilThereIsAnother) {
  EXPECT_EQ(of({seconds(100)}).patience(16, seconds(20)), seconds(200));
  EXPECT_EQ(of({seconds(100), milliseconds(100)}).patience(16, seconds(20)), seconds(20));
}

TEST(MinibatchTimes, AreLongerWithMoreSamples) {
  const MinibatchTimes times = of({seconds(1), seconds(3), seconds(3)});
  EXPECT_EQ(times.expected(64), seconds(12));
  EXPECT_EQ(times.expected(4), seconds(3)) << "it may not get faster by as much";
}

TEST(MinibatchTimes, AreWaitedForTenTimesAsLongAndNeverForMoreThanHalfAnHour) {
  EXPECT_EQ(MinibatchTimes().patience(16, seconds(20)), seconds(20));
  EXPECT_EQ(of({seconds(1), seconds(1), seconds(1)}).patience(16, seconds(20)), seconds(20));
  EXPECT_EQ(of({seconds(1), seconds(3), seconds(3)}).patience(16, seconds(20)), seconds(30));
  const MinibatchTimes endless = of({hours(1), hours(1), hours(1)});
  EXPECT_EQ(endless.patience(1 << 30, seconds(20)), minutes(30));
  EXPECT_EQ(endless.patience(16, minutes(40)), minutes(40));
}

}  // namespace
}  // namespace gearshift
