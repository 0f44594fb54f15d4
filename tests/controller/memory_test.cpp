#include "controller/memory.h"

#include <gtest/gtest.h>

#include <utility>

namespace gearshift {
namespace {

Setting setting_of(std::int64_t value) {
  Setting setting;
  setting.mode.count = 1;
  setting.mode.values[0] = value;
  setting.batch_size[0] = 1;
  return setting;
}

Observation observed(std::int64_t value, std::int64_t power_mw = 20000,
                     Duration minibatch = std::chrono::milliseconds(10)) {
  Observation observation;
  observation.setting = setting_of(value);
  observation.power_mean_mw = power_mw;
  observation.cost[0].minibatch_mean = minibatch;
  observation.cost[0].minibatches = 3;
  return observation;
}

Observation cut_by(std::int64_t value, std::int64_t limit_mw) {
  Observation observation;
  observation.setting = setting_of(value);
  observation.outcome = Outcome::over_limit;
  observation.limit_mw = limit_mw;
  return observation;
}

// In batches of one, that take so long.
Observation served(std::int64_t value, std::int64_t power_mw, std::int64_t minibatch_ms) {
  Observation observation = observed(value, power_mw);
  std::swap(observation.cost[0], observation.cost[1]);
  observation.setting.batch_size = {0, 1};
  observation.setting.run = Run::infer;
  observation.cost[1].minibatch_mean = std::chrono::milliseconds(minibatch_ms);
  return observation;
}

TEST(Memory, WhatServesTheMostIsWithinTheCapAndEndsABatchInTime) {
  Memory memory;
  Goal goal{.objective = Objective::throughput,
            .power_mw = 20'000,
            .latency = std::chrono::milliseconds(30),
            .arrivals_per_s = 1000};
  const auto most = [&] {
    const Observation* found = memory.most_serving(
        goal, [](const Observation& one) { return one.setting.mode.values[0] != 6; });
    return found != nullptr ? found->setting.mode.values[0] : 0;
  };
  EXPECT_EQ(most(), 0);
  memory.add(observed(1));
  EXPECT_EQ(most(), 0) << "it only trains";
  memory.add(served(2, 19'000, 31));
  EXPECT_EQ(most(), 0) << "no request of it is in time";
  memory.add(served(3, 20'000, 30));
  EXPECT_EQ(most(), 3);
  memory.add(served(4, 18'000, 20));
  for (const int one : {5, 6}) memory.add(served(one, one == 5 ? 20'001 : 18'000, 10));
  EXPECT_EQ(most(), 4) << "the faster ones are over the cap and not allowed";
  memory.add(served(4, 18'000, 40));
  EXPECT_EQ(most(), 3) << "the newest tells";
  goal.power_mw = {};
  EXPECT_EQ(most(), 5);
}

TEST(Memory, FindsNothingItWasNotTold) {
  Memory memory;
  EXPECT_EQ(memory.find(setting_of(1), 0), nullptr);
  EXPECT_EQ(memory.best_within({Objective::time, std::nullopt}), nullptr);
  EXPECT_TRUE(memory.observations().empty());
  memory.add(observed(1));
  EXPECT_EQ(memory.find(setting_of(2), 0), nullptr);
  Setting other_batch = setting_of(1);
  other_batch.batch_size[0] = 2;
  EXPECT_EQ(memory.find(other_batch, 0), nullptr);
}

TEST(Memory, AnswersWithTheNewestObservationOfASetting) {
  Memory memory;
  memory.add(observed(1, 20000));
  memory.add(observed(2, 10000));
  memory.add(observed(1, 21000));
  ASSERT_NE(memory.find(setting_of(1), 0), nullptr);
  EXPECT_EQ(memory.find(setting_of(1), 0)->power_mean_mw, 21000);
  EXPECT_EQ(memory.find(setting_of(2), 0)->power_mean_mw, 10000);
  EXPECT_EQ(memory.observations().size(), 3U) << "the older ones stay in the list";
}

TEST(Memory, HasTheNewestWhetherOrNotItAnswers) {
  Memory memory;
  EXPECT_EQ(memory.newest(setting_of(1)), nullptr);
  memory.add(observed(1));
  memory.add(cut_by(1, 20000));
  ASSERT_NE(memory.newest(setting_of(1)), nullptr);
  EXPECT_EQ(memory.newest(setting_of(1))->outcome, Outcome::over_limit);
  EXPECT_EQ(memory.find(setting_of(1), 25000), nullptr);
}

TEST(Memory, ForgetsWhatFailedButNotWhatALimitCut) {
  Memory memory;
  memory.add(observed(1));
  memory.add(cut_by(2, 20000));
  EXPECT_FALSE(memory.any_failed());
  std::int64_t mode = 3;
  for (const Outcome outcome : {Outcome::refused, Outcome::not_applied, Outcome::timed_out,
                                Outcome::stalled, Outcome::outside_writer}) {
    Observation failed = observed(mode++);
    failed.outcome = outcome;
    memory.add(failed);
    EXPECT_TRUE(memory.any_failed());
  }
  EXPECT_TRUE(memory.forget_passing());
  EXPECT_EQ(memory.observations().size(), 2U);
  EXPECT_FALSE(memory.any_failed());
}

TEST(Memory, ForgetsWhatWasLateAndNothingElse) {
  Memory memory;
  EXPECT_FALSE(memory.forget_passing());
  memory.add(observed(1));
  Observation late = observed(2);
  late.outcome = Outcome::late;
  memory.add(late);
  memory.add(observed(3));
  memory.mark_late(setting_of(3), 60);
  memory.add(cut_by(4, 20000));
  EXPECT_TRUE(memory.forget_passing());
  EXPECT_EQ(memory.observations().size(), 2U);
  ASSERT_NE(memory.find(setting_of(1), 0), nullptr);
  EXPECT_EQ(memory.find(setting_of(1), 0)->setting, setting_of(1));
  EXPECT_EQ(memory.find(setting_of(2), 0), nullptr);
  EXPECT_EQ(memory.find(setting_of(3), 0), nullptr);
  ASSERT_NE(memory.find(setting_of(4), 20000), nullptr);
  EXPECT_EQ(memory.find(setting_of(4), 20000)->setting, setting_of(4));
  EXPECT_FALSE(memory.forget_passing());
}

TEST(Memory, AnswersForWhatFailedWhateverTheCap) {
  Memory memory;
  Observation refused = observed(1);
  refused.outcome = Outcome::refused;
  refused.limit_mw = 20000;
  memory.add(refused);
  for (const std::int64_t cap_mw : {0, 10000, 20000, 90000}) {
    ASSERT_NE(memory.find(setting_of(1), cap_mw), nullptr) << cap_mw;
    EXPECT_EQ(memory.find(setting_of(1), cap_mw)->outcome, Outcome::refused);
  }
}

TEST(Memory, AnswersForWhatALimitCutOnlyWhileItIsNoLooser) {
  Memory memory;
  memory.add(cut_by(1, 20000));
  EXPECT_NE(memory.find(setting_of(1), 10000), nullptr);
  EXPECT_NE(memory.find(setting_of(1), 20000), nullptr);
  EXPECT_EQ(memory.find(setting_of(1), 20001), nullptr);
  EXPECT_EQ(memory.find(setting_of(1), 0), nullptr) << "no cap is the loosest";
}

// The older answer was overtaken: under a looser cap the setting is looked at again.
TEST(Memory, DoesNotReachBehindAnObservationThatWasCut) {
  Memory memory;
  memory.add(observed(1, 15000));
  memory.add(cut_by(1, 20000));
  ASSERT_NE(memory.find(setting_of(1), 20000), nullptr);
  EXPECT_EQ(memory.find(setting_of(1), 20000)->outcome, Outcome::over_limit);
  EXPECT_EQ(memory.find(setting_of(1), 30000), nullptr);
  EXPECT_EQ(memory.best_within({Objective::time, 30000}), nullptr);
}

TEST(Memory, CallsTheFastestBestByTimeAndTheThriftiestByEnergy) {
  Memory memory;
  memory.add(observed(1, 10000, std::chrono::milliseconds(30)));  // 0.3 J
  memory.add(observed(2, 40000, std::chrono::milliseconds(10)));  // 0.4 J
  memory.add(observed(3, 15000, std::chrono::milliseconds(15)));  // 0.225 J
  EXPECT_EQ(memory.best_within({Objective::time, std::nullopt})->setting, setting_of(2));
  EXPECT_EQ(memory.best_within({Objective::energy, std::nullopt})->setting, setting_of(3));
}

TEST(Memory, CallsNothingBestThatIsOverTheCap) {
  Memory memory;
  memory.add(observed(1, 10000, std::chrono::milliseconds(30)));
  memory.add(observed(2, 40000, std::chrono::milliseconds(10)));
  EXPECT_EQ(memory.best_within({Objective::time, 40000})->setting, setting_of(2));
  EXPECT_EQ(memory.best_within({Objective::time, 39999})->setting, setting_of(1));
  EXPECT_EQ(memory.best_within({Objective::time, 9999}), nullptr);
}

TEST(Memory, CountsTheNoiseMarginAgainstTheCap) {
  Memory memory;
  Observation noisy = observed(1, 19000);
  noisy.power_margin_mw = 1000;
  memory.add(noisy);
  EXPECT_NE(memory.best_within({Objective::time, 20000}), nullptr);
  EXPECT_EQ(memory.best_within({Objective::time, 19999}), nullptr);
}

TEST(Memory, BreaksATieByTheEarlierObservation) {
  Memory memory;
  memory.add(observed(9));
  memory.add(observed(1));
  memory.add(observed(5));
  EXPECT_EQ(memory.best_within({Objective::time, std::nullopt}), &memory.observations()[0]);
  memory.add(observed(9));  // looked at again: now the later one of the tie
  EXPECT_EQ(memory.best_within({Objective::time, std::nullopt}), &memory.observations()[1]);
}

TEST(Memory, JudgesASettingByItsNewestObservationAlone) {
  Memory memory;
  memory.add(observed(1, 10000, std::chrono::milliseconds(1)));
  memory.add(observed(2, 10000, std::chrono::milliseconds(20)));
  memory.add(observed(1, 50000, std::chrono::milliseconds(1)));  // it draws more by now
  EXPECT_EQ(memory.best_within({Objective::time, 20000})->setting, setting_of(2));
  Observation stalled = observed(2);
  stalled.outcome = Outcome::stalled;
  memory.add(stalled);
  EXPECT_EQ(memory.best_within({Objective::time, 20000}), nullptr);
}

TEST(Memory, HoldsItsMostWithoutForgetting) {
  Memory memory;
  const Observation* storage = nullptr;
  for (std::int64_t i = 0; i < 4096; ++i) {
    ASSERT_TRUE(memory.add(observed(i))) << i;
    if (i == 0) storage = memory.observations().data();
  }
  EXPECT_EQ(memory.observations().size(), 4096U);
  EXPECT_EQ(memory.observations().data(), storage) << "spans that were handed out stay valid";
  EXPECT_EQ(memory.find(setting_of(0), 0)->setting, setting_of(0));
  EXPECT_EQ(memory.find(setting_of(4095), 0), &memory.observations()[4095]);
}

TEST(Memory, ForgetsTheOlderHalfPastItsMostAndFindsTheRest) {
  Memory memory;
  for (std::int64_t i = 0; i < 4096; ++i) memory.add(observed(i));
  const Observation* storage = memory.observations().data();
  EXPECT_FALSE(memory.add(observed(4096))) << "it has to say that it forgot";
  EXPECT_EQ(memory.observations().size(), 2049U);
  EXPECT_EQ(memory.observations().data(), storage);
  for (std::int64_t i = 0; i < 2048; ++i) {
    ASSERT_EQ(memory.find(setting_of(i), 0), nullptr) << i;
  }
  for (std::int64_t i = 2048; i <= 4096; ++i) {
    ASSERT_NE(memory.find(setting_of(i), 0), nullptr) << i;
    ASSERT_EQ(memory.find(setting_of(i), 0)->setting, setting_of(i)) << i;
  }
  EXPECT_EQ(memory.best_within({Objective::time, std::nullopt}), &memory.observations()[0]);
  for (std::int64_t i = 4097; i < 4096 + 2048; ++i) ASSERT_TRUE(memory.add(observed(i))) << i;
  EXPECT_FALSE(memory.add(observed(9999)));
}

TEST(Memory, ForgetsNoNewerObservationOfASettingFirstSeenEarly) {
  Memory memory(4);
  memory.add(observed(1, 10000));
  memory.add(observed(2));
  memory.add(observed(1, 11000));
  memory.add(observed(3));
  EXPECT_FALSE(memory.add(observed(4)));
  ASSERT_NE(memory.find(setting_of(1), 0), nullptr);
  EXPECT_EQ(memory.find(setting_of(1), 0)->power_mean_mw, 11000);
  EXPECT_EQ(memory.find(setting_of(2), 0), nullptr);
}

// Whatever its size, it never grows past it: spans would be left behind.
TEST(Memory, StaysBelowItsMostForEverySmallSize) {
  for (const std::size_t most : {2U, 3U, 5U}) {
    Memory memory(most);
    memory.add(observed(0));
    const Observation* storage = memory.observations().data();
    for (std::int64_t i = 1; i < 20; ++i) {
      memory.add(observed(i));
      ASSERT_LE(memory.observations().size(), most);
      ASSERT_EQ(memory.observations().data(), storage);
      ASSERT_EQ(memory.find(setting_of(i), 0), &memory.observations().back());
    }
  }
}

TEST(Memory, ForgetsEverythingWhenAsked) {
  Memory memory;
  memory.add(observed(1));
  memory.forget();
  EXPECT_TRUE(memory.observations().empty());
  EXPECT_EQ(memory.find(setting_of(1), 0), nullptr);
  EXPECT_EQ(memory.best_within({Objective::time, std::nullopt}), nullptr);
  EXPECT_TRUE(memory.add(observed(1)));
  EXPECT_NE(memory.find(setting_of(1), 0), nullptr);
}

TEST(Memory, KeepsWhatItKnowsForTheSameWorkloadsOnly) {
  Memory memory;
  memory.keep_for("train:resnet18 ");
  memory.add(observed(1));
  memory.keep_for("train:resnet18 ");
  EXPECT_NE(memory.find(setting_of(1), 0), nullptr);
  memory.keep_for("train:resnet18 infer:bert ");
  EXPECT_EQ(memory.find(setting_of(1), 0), nullptr);
  memory.keep_for("train:resnet18 ");
  EXPECT_EQ(memory.find(setting_of(1), 0), nullptr) << "what was forgotten does not come back";
}

TEST(Memory, KnowsOnlyWhatIsOfferedAndTheRestOnceItIsAgain) {
  Memory memory;
  for (const std::int64_t value : {1, 2, 3, 2}) memory.add(observed(value, 1000 * value));
  const auto values = [&] {
    std::vector<std::int64_t> known;
    for (const Observation& one : memory.observations()) {
      known.push_back(one.setting.mode.values[0]);
    }
    return known;
  };
  const Observation* storage = memory.observations().data();
  const auto but_two = [](const Setting& setting) { return setting.mode.values[0] != 2; };
  memory.offer(but_two);
  EXPECT_EQ(values(), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(memory.find(setting_of(2), 0), nullptr);
  ASSERT_NE(memory.find(setting_of(3), 0), nullptr);
  EXPECT_EQ(memory.find(setting_of(3), 0)->power_mean_mw, 3000);
  EXPECT_EQ(memory.best_within({Objective::time, 2000})->setting, setting_of(1));
  memory.add(observed(4));
  memory.offer(but_two);
  EXPECT_EQ(values(), (std::vector<std::int64_t>{1, 3, 4})) << "nothing changes";
  memory.offer([](const Setting&) { return true; });
  EXPECT_EQ(values(), (std::vector<std::int64_t>{2, 2, 1, 3, 4}));
  EXPECT_EQ(memory.find(setting_of(2), 0), &memory.observations()[1]);
  EXPECT_EQ(memory.observations().data(), storage) << "spans that were handed out stay valid";
  memory.offer(but_two);
  memory.forget();
  memory.offer([](const Setting&) { return true; });
  EXPECT_TRUE(memory.observations().empty()) << "what was set aside is forgotten too";
}

TEST(Memory, SetsAsideWhatWasLateAndForgetsItThereToo) {
  Memory memory;
  Observation late = observed(1);
  late.outcome = Outcome::late;
  memory.add(late);
  memory.add(observed(2));
  memory.offer([](const Setting&) { return false; });
  EXPECT_FALSE(memory.forget_passing()) << "nothing that is known was";
  memory.offer([](const Setting&) { return true; });
  ASSERT_EQ(memory.observations().size(), 1U);
  EXPECT_EQ(memory.observations()[0].setting, setting_of(2));
}

TEST(Memory, StaysBelowItsMostWhateverComesBack) {
  Memory memory(4);
  memory.add(observed(0));
  const Observation* storage = memory.observations().data();
  const auto even = [](const Setting& setting) { return setting.mode.values[0] % 2 == 0; };
  for (std::int64_t i = 1; i < 40; ++i) {
    memory.offer([&](const Setting& setting) { return even(setting) == (i % 6 < 3); });
    memory.add(observed(i));
    ASSERT_LE(memory.observations().size(), 4U);
    ASSERT_EQ(memory.find(setting_of(i), 0), &memory.observations().back());
  }
  memory.offer([](const Setting&) { return true; });
  EXPECT_EQ(memory.observations().size(), 4U);
  EXPECT_EQ(memory.observations().data(), storage);
}

TEST(Memory, WhatWasCutSinceOverrulesWhatFittedBefore) {
  const std::vector<Observation> seen = {observed(1), observed(2), cut_by(1, 28000), observed(2)};
  const Goal tight{.power_mw = 28000};
  EXPECT_EQ(overruled(seen, tight), (std::vector<bool>{true, false, false, false}))
      << "what was measured anew overrules nothing";
  const Goal looser{.power_mw = 28001};
  EXPECT_EQ(overruled(seen, looser), (std::vector<bool>{false, false, false, false}))
      << "under a looser cap the cut says nothing";
  EXPECT_TRUE(overruled({}, tight).empty());
}

TEST(Memory, TheNewestObservationOfASettingTakesTheCostsThatCameLater) {
  Memory memory;
  memory.add(observed(1));
  Observation cut = observed(1);
  cut.outcome = Outcome::late;
  cut.cost = {};
  memory.add(cut);
  memory.add(observed(2));
  std::array<Cost, kKinds> cost{};
  cost[index(Kind::infer)] = {.minibatch_mean = std::chrono::milliseconds(90), .minibatches = 3};
  memory.set_cost(setting_of(1), cost);
  memory.set_cost(setting_of(3), cost);  // nothing is known of it
  const auto seen = memory.observations();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].cost[index(Kind::infer)].minibatches, 0U);
  EXPECT_EQ(seen[1].cost[index(Kind::infer)].minibatches, 3U);
  EXPECT_EQ(seen[2].cost[index(Kind::infer)].minibatches, 0U);
  EXPECT_FALSE(seen[1].ok()) << "it is still late";
}

}  // namespace
}  // namespace gearshift
