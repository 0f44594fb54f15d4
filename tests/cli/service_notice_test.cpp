#include "cli/service_notice.h"

#include <gtest/gtest.h>

#include "tests/fakes/since_start.h"

namespace gearshift {
namespace {

using fakes::at;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(WatchdogFeed, IsFedFourTimesInItsPatience) {
  WatchdogFeed feed(seconds(2));
  int fed = 0;
  for (int tick = 0; tick < 100; ++tick) {
    if (feed.due(at(milliseconds(100) * tick))) ++fed;
  }
  EXPECT_EQ(fed, 20);
}

TEST(WatchdogFeed, IsNotFedForATickThatCameLate) {
  WatchdogFeed feed(seconds(2));
  EXPECT_TRUE(feed.due(at({})));
  EXPECT_FALSE(feed.due(at(milliseconds(1001))));
  EXPECT_TRUE(feed.due(at(milliseconds(1101)))) << "the loop goes on";
  EXPECT_TRUE(feed.due(at(milliseconds(2101)))) << "a second is not late yet";
}

TEST(WatchdogFeed, StarvesWhereEveryTickIsLate) {
  WatchdogFeed feed(seconds(10));
  EXPECT_TRUE(feed.due(at({})));
  for (int tick = 1; tick < 20; ++tick) EXPECT_FALSE(feed.due(at(milliseconds(1500) * tick)));
}

TEST(ServiceNotice, HasNoWatchdogWhereNobodyListens) {
  EXPECT_FALSE(ServiceNotice("", seconds(2)).watchdog());
  EXPECT_FALSE(ServiceNotice("relative/path", seconds(2)).watchdog());
  EXPECT_FALSE(ServiceNotice("/" + std::string(200, 'x'), seconds(2)).watchdog());
  EXPECT_TRUE(ServiceNotice("@abstract", seconds(2)).watchdog());
  ServiceNotice("/nobody/is/here").send("READY=1");
}

}  // namespace
}  // namespace gearshift
