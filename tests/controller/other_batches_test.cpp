#include "controller/other_batches.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

Setting training_batch(std::int32_t batch_size) {
  Setting setting;
  setting.batch_size[index(Kind::train)] = batch_size;
  return setting;
}

TEST(OtherBatches, AreAskedToChangeSinceTheFirstCommandThatTheyHaveNotFollowed) {
  OtherBatches batches;
  batches.begin(Time{} + seconds(1));
  batches.ask(training_batch(8), Time{} + seconds(1));
  batches.ask(training_batch(16), Time{} + seconds(2));
  EXPECT_EQ(batches.since(), Time{} + seconds(1));
  EXPECT_FALSE(batches.draw_more());
}

TEST(OtherBatches, ThatDrewMoreDoSoUntilAllHaveFollowedAndTheNextTimeOfThatSetting) {
  OtherBatches batches;
  batches.begin(Time{});
  EXPECT_TRUE(batches.blame(training_batch(8), Time{} + seconds(1)));
  EXPECT_TRUE(batches.draw_more());
  batches.begin(Time{} + seconds(2));
  batches.ask(training_batch(16), Time{} + seconds(2));
  EXPECT_FALSE(batches.draw_more()) << "nothing is known of these";
  batches.begin(Time{} + seconds(3));
  batches.ask(training_batch(8), Time{} + seconds(3));
  EXPECT_TRUE(batches.draw_more()) << "as the last time";
}

TEST(OtherBatches, AreToBlameForASettingOnceInTenMinutes) {
  OtherBatches batches;
  EXPECT_TRUE(batches.blame(training_batch(8), Time{}));
  EXPECT_FALSE(batches.blame(training_batch(8), Time{} + seconds(1)));
  EXPECT_TRUE(batches.blame(training_batch(16), Time{} + seconds(1)));
  EXPECT_TRUE(batches.blame(training_batch(8), Time{} + minutes(10)));
}

}  // namespace
}  // namespace gearshift
