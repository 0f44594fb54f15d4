// For how long the C++ client leaves alone a connection by which nothing can be sent.
#include <gtest/gtest.h>

#include "bridge/client/gearshift_patience.hpp"

namespace gearshift::client::detail {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(ConnectPatience, DoublesWhileItIsInVainUpToAMinute) {
  ConnectPatience patience;
  for (const int longest : {3, 6, 12, 24, 48, 60, 60}) {
    EXPECT_FALSE(patience.over(seconds(longest)));
    EXPECT_TRUE(patience.over(seconds(longest) + nanoseconds(1)));
    patience.was_in_vain();
  }
  patience.restart();
  EXPECT_FALSE(patience.over(seconds(3)));
  EXPECT_TRUE(patience.over(seconds(4)));
}

}  // namespace
}  // namespace gearshift::client::detail
