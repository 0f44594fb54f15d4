#include "limits/work_table.h"

#include <gtest/gtest.h>

#include "tests/fakes/limited_battery.h"

namespace gearshift {
namespace {

using fakes::Limited;
using std::chrono::milliseconds;

Setting of_batch(std::int32_t batch_size) {
  Setting setting = fakes::setting(1);
  setting.batch_size[index(Kind::train)] = batch_size;
  return setting;
}

// 100 samples a second.
Observation measured(std::int32_t batch_size, std::int64_t power_mw) {
  Observation observation;
  observation.setting = of_batch(batch_size);
  observation.power_mean_mw = power_mw;
  observation.cost[index(Kind::train)] = {.minibatch_mean = milliseconds(10 * batch_size),
                                          .minibatches = 10};
  return observation;
}

TEST(WorkTable, CountsOnlyWhatIsOfferedAndTheRestOnceItIsAgain) {
  WorkTable table;
  table.learn(measured(16, 20'000));
  table.learn(measured(64, 30'000));
  const WorkPrediction predicted{.front = {{of_batch(32), {25, 150}}}, .of = {}};
  const auto small = [](const Setting& setting) { return setting.batch_size[0] < 64; };
  table.offer(predicted, small);
  ASSERT_EQ(table.points().size(), 2U);
  EXPECT_EQ(table.points()[0].power_w, 20);
  EXPECT_EQ(table.points()[1].power_w, 25);
  const auto all = [](const Setting&) { return true; };
  table.offer({}, all);
  ASSERT_EQ(table.points().size(), 2U);
  EXPECT_EQ(table.points()[0].power_w, 30);  // what came back is the first
  EXPECT_EQ(table.points()[1].power_w, 20);
  table.offer({}, small);
  table.predict({});
  table.offer({}, all);
  EXPECT_TRUE(table.points().empty());
}

TEST(WorkTable, ABatteryPlansWithTheBatchSizesThatATrainerOffersNow) {
  Limited run({.aim = BatteryAim::progress}, false, {});
  run.limit.learn(measured(16, 20'000));
  run.limit.learn(measured(64, 10'000));  // does as much for half of the power
  run.battery(10);
  run.cap();
  EXPECT_EQ(run.limit.plan().mean_power_w, 10);
  Event attached;
  attached.type = EventType::attached;
  attached.workload.handle = 2;
  attached.workload.managed = true;
  attached.workload.batch_size = 16;
  attached.workload.batch_sizes = {16, 32};
  attached.workload.batch_size_count = 2;
  attached.workload.name = BoundedText<64>("resnet18");
  run.detach(1);
  run.limit.consume(attached);
  run.cap();
  EXPECT_EQ(run.limit.plan().mean_power_w, 20);
}

}  // namespace
}  // namespace gearshift
