#include "controller/setting.h"

#include <gtest/gtest.h>

#include <functional>
#include <unordered_set>
#include <vector>

namespace gearshift {
namespace {

Setting a_setting() {
  Setting setting;
  setting.mode.count = 2;
  setting.mode.values = {8, 1300500};
  setting.batch_size = {16, 4};
  return setting;
}

TEST(Setting, IsEqualOnlyWhereEveryPartIs) {
  const std::vector<std::function<void(Setting&)>> changes = {
      [](Setting& s) { s.mode.values[0] = 4; }, [](Setting& s) { s.mode.values[1] = 1; },
      [](Setting& s) { s.mode.count = 1; },     [](Setting& s) { s.batch_size[0] = 17; },
      [](Setting& s) { s.batch_size[1] = 0; },  [](Setting& s) { s.run = Run::train; },
      [](Setting& s) { s.run = Run::infer; },
  };
  EXPECT_EQ(a_setting(), a_setting());
  EXPECT_EQ(hash(a_setting()), hash(a_setting()));
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Setting other = a_setting();
    changes[i](other);
    EXPECT_NE(other, a_setting()) << "change " << i;
    EXPECT_NE(hash(other), hash(a_setting())) << "change " << i;
  }
}

TEST(Setting, HashesTheKindsBatchSizesApart) {
  Setting swapped = a_setting();
  std::swap(swapped.batch_size[0], swapped.batch_size[1]);
  EXPECT_NE(hash(swapped), hash(a_setting()));
}

TEST(Setting, HashesAWholeGridWithoutACollision) {
  std::unordered_set<std::size_t> hashes;
  std::size_t settings = 0;
  for (std::int64_t cores = 1; cores <= 12; ++cores) {
    for (std::int64_t khz = 114750; khz <= 1300500; khz += 102000) {
      for (std::int32_t batch_size = 1; batch_size <= 64; batch_size *= 2) {
        Setting setting = a_setting();
        setting.mode.values[0] = cores;
        setting.mode.values[1] = khz;
        setting.batch_size[0] = batch_size;
        hashes.insert(hash(setting));
        ++settings;
      }
    }
  }
  EXPECT_EQ(hashes.size(), settings);
}

TEST(Run, SaysWhichKindsRun) {
  EXPECT_TRUE(runs(Run::both, Kind::train));
  EXPECT_TRUE(runs(Run::both, Kind::infer));
  EXPECT_TRUE(runs(Run::train, Kind::train));
  EXPECT_FALSE(runs(Run::train, Kind::infer));
  EXPECT_FALSE(runs(Run::infer, Kind::train));
  EXPECT_TRUE(runs(Run::infer, Kind::infer));
}

TEST(Run, HasTheNamesOfTheWireAndOfScripts) {
  EXPECT_EQ(run_name(Run::train), "train");
  EXPECT_EQ(run_name(Run::infer), "infer");
  EXPECT_EQ(run_name(Run::both), "both");
  EXPECT_EQ(kind_name(Kind::train), "train");
  EXPECT_EQ(kind_name(Kind::infer), "infer");
}

}  // namespace
}  // namespace gearshift
