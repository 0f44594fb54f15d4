// What a workload takes up no more is not offered any longer.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "controller/roster.h"
#include "tests/fakes/fake_world.h"

namespace gearshift {
namespace {

constexpr std::int32_t kAnyLarger = std::numeric_limits<std::int32_t>::max();

class RosterOffersTest : public testing::Test {
 protected:
  RosterOffersTest() { roster_.attach(fakes::trainer(1)); }  // 8, 16, its own, and 32
  std::vector<std::int32_t> offered() const {
    const auto allowed = roster_.managed(Kind::train)->allowed();
    return {allowed.begin(), allowed.end()};
  }
  void runs(std::int32_t batch_size) {
    Setting setting;
    setting.batch_size[index(Kind::train)] = batch_size;
    roster_.command(world_, setting);
    Event event;
    event.type = EventType::applied;
    event.handle = 1;
    event.set_sequence = ++sequence_;
    event.batch_size = batch_size;
    roster_.applied(event);
  }

  fakes::Hardware hardware_;
  fakes::FakeWorld world_{hardware_, std::chrono::seconds(1)};
  Roster roster_;
  std::uint32_t sequence_ = 0;
};

TEST_F(RosterOffersTest, OneSizeIsWithdrawn) {
  EXPECT_TRUE(roster_.withdraw(1, 8, 8));
  EXPECT_EQ(offered(), (std::vector{16, 32}));
  EXPECT_FALSE(roster_.withdraw(1, 8, 8)) << "it is gone already";
  EXPECT_FALSE(roster_.withdraw(2, 16, 16)) << "nobody is there";
}

TEST_F(RosterOffersTest, AllFromOneOnAreWithdrawn) {
  runs(8);
  EXPECT_TRUE(roster_.withdraw(1, 16, kAnyLarger));
  EXPECT_EQ(offered(), (std::vector{8}));
}

TEST_F(RosterOffersTest, TheSizeInForceStays) {
  EXPECT_FALSE(roster_.withdraw(1, 16, 16));
  EXPECT_TRUE(roster_.withdraw(1, 1, kAnyLarger));
  EXPECT_EQ(offered(), (std::vector{16}));
}

TEST_F(RosterOffersTest, TheSizeAtAttachmentGoesLikeOthers) {
  runs(8);
  EXPECT_TRUE(roster_.withdraw(1, 16, 16));
  EXPECT_FALSE(roster_.managed(Kind::train)->offers(16));
  EXPECT_EQ(roster_.managed(Kind::train)->batch_size, 8);
}

TEST_F(RosterOffersTest, ASettingHasTheSizesAtAttachmentOfWhomItLeavesOut) {
  const std::int32_t own = roster_.managed(Kind::train)->batch_size;
  Setting setting;
  setting.batch_size[index(Kind::infer)] = 4;
  setting.run = Run::infer;
  const Setting with = roster_.with_batches(setting);
  EXPECT_EQ(with.batch_size[index(Kind::train)], own);
  EXPECT_EQ(with.batch_size[index(Kind::infer)], 0) << "nobody serves";
  EXPECT_EQ(with.run, Run::infer);
  EXPECT_EQ(roster_.with_all(setting).run, Run::train) << "nobody else is there";
  setting.batch_size[index(Kind::train)] = 8;
  EXPECT_EQ(roster_.with_batches(setting).batch_size[index(Kind::train)], 8);
}

TEST_F(RosterOffersTest, TheSmallestBatchesAreNoLargerThanTheyWere) {
  Setting setting;
  setting.batch_size[index(Kind::train)] = 32;
  EXPECT_EQ(roster_.with_smallest_batches(setting).batch_size[index(Kind::train)], 8);
  setting.batch_size[index(Kind::train)] = 4;
  EXPECT_EQ(roster_.with_smallest_batches(setting).batch_size[index(Kind::train)], 4);
  setting.batch_size[index(Kind::train)] = 0;
  EXPECT_EQ(roster_.with_smallest_batches(setting).batch_size[index(Kind::train)], 0);
}

}  // namespace
}  // namespace gearshift
