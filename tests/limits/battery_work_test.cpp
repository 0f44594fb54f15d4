// How a battery's plan counts the work, and what it tells of work that waits or is capped.
#include <gtest/gtest.h>

#include "tests/fakes/limited_battery.h"

namespace gearshift {
namespace {

using fakes::Limited;
using std::chrono::seconds;

Event minibatch(std::uint32_t epoch, std::int32_t samples, std::uint64_t sequence) {
  Event event;
  event.type = EventType::minibatch;
  event.minibatch.workload = 2;
  event.minibatch.epoch = epoch;
  event.minibatch.batch_size = samples;
  event.minibatch.sequence = sequence;
  return event;
}

// 100 samples an epoch, in minibatches of 64.
void attach(Limited& run, std::string_view name = "lenet") {
  Event event;
  event.type = EventType::attached;
  event.workload.handle = 2;
  event.workload.managed = true;
  event.workload.batch_size = 64;
  event.workload.samples_per_epoch = 100;
  event.workload.name = BoundedText<64>(name);
  run.limit.consume(event);
}

TEST(BatteryWork, IsDoneWhereTheLastMinibatchesOfEpochsAreSmaller) {
  Limited run({.aim = BatteryAim::finish, .epochs = 5});
  attach(run);
  run.battery(10);
  run.cap();
  EXPECT_NEAR(run.limit.plan().samples, 500, 1e-6);
  for (std::uint32_t epoch = 0; epoch < 5; ++epoch) {
    EXPECT_NE(run.limit.state(), BatteryState::done);
    run.limit.consume(minibatch(epoch, 64, 2 * epoch + 1));
    run.now += seconds(5);
    run.battery(10);
    run.cap();
    if (epoch == 3) {
      EXPECT_NEAR(run.limit.plan().samples, 136, 1e-6);
    }
  }
  EXPECT_NEAR(run.limit.plan().samples, 36, 1e-6);
  EXPECT_EQ(run.limit.state(), BatteryState::done);
}

TEST(BatteryWork, GoesOnWhereItWasBeforeADaemonBeganAnew) {
  Limited run({.aim = BatteryAim::finish, .epochs = 8});
  attach(run);
  run.battery(10);
  run.limit.consume(minibatch(5, 64, 11));
  run.cap();
  EXPECT_NEAR(run.limit.plan().samples, 300 - 64, 1e-6);
  attach(run, "resnet50");
  run.cap();
  EXPECT_NEAR(run.limit.plan().samples, 800, 1e-6) << "it is another's";
}

// 10 W do 100 samples a second, 20 W 300 and 30 W 390.
TEST(BatteryWork, TellsWhatComesOfItIfAnothersCapStays) {
  Limited run({.aim = BatteryAim::finish, .epochs = 39, .until = seconds(150)});
  run.battery(10);
  run.limit.hear({.others_mw = 15'000});
  const auto cap = run.cap();
  EXPECT_EQ(cap, std::nullopt) << "the plan stays what it is: the cap may be gone soon";
  EXPECT_EQ(run.limit.plan().shortfall, Shortfall::none);
  EXPECT_NEAR(run.limit.plan().time_s, 100, 1e-6);
  ASSERT_TRUE(run.limit.plan_within_others());
  EXPECT_EQ(run.limit.plan_within_others()->shortfall, Shortfall::time);
  EXPECT_NEAR(run.limit.plan_within_others()->time_s, 195, 1e-6);
  EXPECT_EQ(run.limit.describe(),
            "planned: 30.0 W for 100 s; while another cap leaves no more, "
            "15.0 W for 195 s; too little time");
  for (const std::optional<std::int64_t> enough :
       {std::optional<std::int64_t>(), std::optional<std::int64_t>(30'000),
        std::optional<std::int64_t>(kLowestModeMw), std::optional<std::int64_t>(kNoPowerMw)}) {
    run.limit.hear({.others_mw = enough});
    run.now += seconds(5);
    run.battery(10);
    run.cap();
    EXPECT_FALSE(run.limit.plan_within_others());
    EXPECT_EQ(run.limit.describe(), "planned: 30.0 W for 100 s");
  }
  run.limit.hear({.others_mw = 25'000});
  run.now += seconds(5);
  run.battery(10);
  run.cap();
  ASSERT_TRUE(run.limit.plan_within_others());
  EXPECT_EQ(run.limit.plan_within_others()->shortfall, Shortfall::none);
  EXPECT_NEAR(run.limit.plan_within_others()->time_s, 39'000.0 / 345, 1e-6);
}

TEST(BatteryWork, TellsThatItIsSavedAndWaits) {
  Limited run({.aim = BatteryAim::progress}, true);
  run.battery(2.01);
  run.cap();
  EXPECT_TRUE(run.limit.describe().starts_with("low: 20.0 W for ")) << run.limit.describe();
  run.limit.hear({.work_is_saved = true});
  run.cap();
  EXPECT_EQ(run.limit.describe(), "low: work is saved; the workloads wait");
  run.battery(2);
  run.cap();
  EXPECT_EQ(run.limit.describe(), "reserve");
}

}  // namespace
}  // namespace gearshift
