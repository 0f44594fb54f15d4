#include "controller/ledger.h"

#include <gtest/gtest.h>

#include "tests/fakes/since_start.h"

namespace gearshift {
namespace {

using fakes::at;
using std::chrono::milliseconds;

constexpr Duration kLedgerTick = milliseconds(100);

Minibatch minibatch(std::uint32_t epoch, Kind kind = Kind::train) {
  Minibatch minibatch;
  minibatch.kind = kind;
  minibatch.batch_size = 16;
  minibatch.epoch = epoch;
  minibatch.elapsed = milliseconds(100);
  minibatch.fetch_stall = milliseconds(30);
  minibatch.compute = milliseconds(60);
  return minibatch;
}

TEST(Ledger, BeginsWithNothing) {
  const Ledger ledger;
  EXPECT_EQ(ledger.energy_j(), 0.0);
  EXPECT_EQ(ledger.over_cap_s(), 0.0);
  EXPECT_EQ(ledger.over_cap_j(), 0.0);
  EXPECT_TRUE(ledger.epochs(Kind::train).empty());
  EXPECT_TRUE(ledger.epochs(Kind::infer).empty());
}

TEST(Ledger, IntegratesPowerSinceTheLastTick) {
  Ledger ledger;
  ledger.tick(at({}), 20000, std::nullopt);
  EXPECT_EQ(ledger.energy_j(), 0.0) << "nothing is known of the time before the first tick";
  ledger.tick(at(milliseconds(500)), 20000, std::nullopt);
  EXPECT_NEAR(ledger.energy_j(), 10.0, 1e-9);
  ledger.tick(at(milliseconds(1500)), 40000, std::nullopt);
  EXPECT_NEAR(ledger.energy_j(), 50.0, 1e-9);
}

TEST(Ledger, AddsNothingWhilePowerIsUnknown) {
  Ledger ledger;
  ledger.tick(at({}), 20000, 10000);
  ledger.tick(at(milliseconds(1000)), std::nullopt, 10000);
  EXPECT_EQ(ledger.energy_j(), 0.0);
  EXPECT_EQ(ledger.over_cap_s(), 0.0);
  ledger.tick(at(milliseconds(1100)), 20000, 10000);
  EXPECT_NEAR(ledger.energy_j(), 2.0, 1e-9) << "the unknown second is not made up for";
  EXPECT_NEAR(ledger.over_cap_s(), 0.1, 1e-9);
}

TEST(Ledger, AddsNothingForATimeInWhichNobodyRead) {
  Ledger ledger;
  ledger.tick(at({}), 20000, 10000);
  ledger.tick(at(std::chrono::seconds(5)), 20000, 10000);
  EXPECT_NEAR(ledger.energy_j(), 100.0, 1e-9);
  ledger.tick(at(std::chrono::hours(8)), 20000, 10000);
  EXPECT_NEAR(ledger.energy_j(), 100.0, 1e-9);
  EXPECT_NEAR(ledger.over_cap_s(), 5, 1e-9);
  ledger.tick(at(std::chrono::hours(8) + std::chrono::seconds(1)), 20000, 10000);
  EXPECT_NEAR(ledger.energy_j(), 120.0, 1e-9);
}

TEST(Ledger, AddsNothingWhenNoTimeHasPassed) {
  Ledger ledger;
  ledger.tick(at({}), 20000, 10000);
  ledger.tick(at({}), 20000, 10000);
  EXPECT_EQ(ledger.energy_j(), 0.0);
  EXPECT_EQ(ledger.over_cap_s(), 0.0);
}

TEST(Ledger, CountsTimeOverTheCapFromOneMilliwattOver) {
  Ledger ledger;
  ledger.tick(at({}), 30000, 30000);
  ledger.tick(at(milliseconds(1000)), 30000, 30000);
  EXPECT_EQ(ledger.over_cap_s(), 0.0);
  EXPECT_EQ(ledger.over_cap_j(), 0.0);
  ledger.tick(at(milliseconds(3000)), 30001, 30000);
  EXPECT_NEAR(ledger.over_cap_s(), 2.0, 1e-9);
  EXPECT_NEAR(ledger.over_cap_j(), 0.002, 1e-9);
}

TEST(Ledger, CountsOnlyThePartAboveTheCapAsEnergyOver) {
  Ledger ledger;
  ledger.tick(at({}), 35000, 30000);
  ledger.tick(at(milliseconds(2000)), 35000, 30000);
  EXPECT_NEAR(ledger.over_cap_s(), 2.0, 1e-9);
  EXPECT_NEAR(ledger.over_cap_j(), 10.0, 1e-9);
  EXPECT_NEAR(ledger.energy_j(), 70.0, 1e-9);
}

TEST(Ledger, IsNeverOverWithoutACap) {
  Ledger ledger;
  ledger.tick(at({}), 1000000, std::nullopt);
  ledger.tick(at(milliseconds(1000)), 1000000, std::nullopt);
  EXPECT_EQ(ledger.over_cap_s(), 0.0);
  EXPECT_EQ(ledger.over_cap_j(), 0.0);
}

TEST(Ledger, AddsUpTheMinibatchesOfAnEpoch) {
  Ledger ledger;
  for (int i = 0; i < 3; ++i) ledger.add(minibatch(0));
  ASSERT_EQ(ledger.epochs(Kind::train).size(), 1U);
  const Epoch& epoch = ledger.epochs(Kind::train)[0];
  EXPECT_EQ(epoch.number, 0U);
  EXPECT_EQ(epoch.minibatches, 3U);
  EXPECT_EQ(epoch.samples, 48U);
  EXPECT_EQ(epoch.elapsed, milliseconds(300));
  EXPECT_EQ(epoch.fetch_stall, milliseconds(90));
  EXPECT_EQ(epoch.compute, milliseconds(180));
}

TEST(Ledger, KeepsTheBootstrapEpochApart) {
  Ledger ledger;
  ledger.add(minibatch(0));
  ledger.add(minibatch(1));
  ledger.add(minibatch(1));
  ASSERT_EQ(ledger.epochs(Kind::train).size(), 2U);
  EXPECT_EQ(ledger.epochs(Kind::train)[0].minibatches, 1U);
  EXPECT_EQ(ledger.epochs(Kind::train)[1].minibatches, 2U);
  EXPECT_EQ(ledger.epochs(Kind::train)[1].number, 1U);
}

TEST(Ledger, KnowsWhichEpochsAreComplete) {
  Ledger ledger;
  const auto complete = [&] { return ledger.epochs(Kind::train).back().complete; };
  Minibatch of_first = minibatch(7);
  of_first.workload = 1;
  ledger.add(of_first, 32);
  ++of_first.epoch;
  ledger.add(of_first, 32);
  EXPECT_FALSE(ledger.epochs(Kind::train)[0].complete) << "nobody saw it begin";
  ++of_first.epoch;
  ledger.add(of_first, 32);
  EXPECT_TRUE(ledger.epochs(Kind::train)[1].complete) << "another one has begun";
  EXPECT_FALSE(complete());
  ledger.add(of_first, 32);
  EXPECT_TRUE(complete()) << "it has its 32 samples";
  Minibatch of_second = minibatch(3);
  of_second.workload = 2;
  ledger.add(of_second);
  ++of_second.epoch;
  ledger.add(of_second);
  EXPECT_FALSE(ledger.epochs(Kind::train)[3].complete) << "what came before was another's";
}

// A daemon that attaches in mid-run first hears of a later epoch.
TEST(Ledger, BeginsWithWhicheverEpochItHearsOf) {
  Ledger ledger;
  ledger.add(minibatch(7));
  ASSERT_EQ(ledger.epochs(Kind::train).size(), 1U);
  EXPECT_EQ(ledger.epochs(Kind::train)[0].number, 7U);
}

TEST(Ledger, KeepsTheKindsApart) {
  Ledger ledger;
  ledger.add(minibatch(0, Kind::train));
  ledger.add(minibatch(0, Kind::infer));
  ledger.add(minibatch(1, Kind::infer));
  EXPECT_EQ(ledger.epochs(Kind::train).size(), 1U);
  EXPECT_EQ(ledger.epochs(Kind::infer).size(), 2U);
}

TEST(Ledger, KeepsItsMostEpochsAndAddsLaterOnesUpInTheLast) {
  Ledger ledger;
  const auto most = static_cast<std::uint32_t>(Ledger::kMostEpochs);
  const Epoch* storage = nullptr;
  for (std::uint32_t epoch = 0; epoch < most; ++epoch) {
    ledger.add(minibatch(epoch));
    if (epoch == 0) storage = ledger.epochs(Kind::train).data();
  }
  EXPECT_EQ(ledger.epochs(Kind::train).size(), 1024U);
  EXPECT_EQ(ledger.epochs(Kind::train).back().minibatches, 1U);
  ledger.add(minibatch(most));
  ledger.add(minibatch(most + 1));
  EXPECT_EQ(ledger.epochs(Kind::train).size(), 1024U);
  EXPECT_EQ(ledger.epochs(Kind::train).back().number, most - 1);
  EXPECT_EQ(ledger.epochs(Kind::train).back().minibatches, 3U);
  ledger.add(minibatch(most + 2), 16);
  EXPECT_FALSE(ledger.epochs(Kind::train).back().complete);
  EXPECT_EQ(ledger.epochs(Kind::train).data(), storage) << "a steady tick must not allocate";
}

// One minibatch of 100 ms a tick of 100 ms at 20 W: 2 J each.
TEST(Ledger, GivesEachEpochTheEnergyOfItsMinibatches) {
  Ledger ledger;
  ledger.tick(at({}), 20000, std::nullopt);
  for (int i = 1; i <= 20; ++i) {
    ledger.add(minibatch(i <= 5 ? 0 : 1));
    ledger.tick(at(kLedgerTick * i), 20000, std::nullopt);
  }
  ASSERT_EQ(ledger.epochs(Kind::train).size(), 2U);
  EXPECT_NEAR(ledger.epochs(Kind::train)[0].energy_j, 10.0, 1e-9);
  EXPECT_NEAR(ledger.epochs(Kind::train)[1].energy_j, 30.0, 1e-9);
  EXPECT_NEAR(ledger.energy_j(), 40.0, 1e-9);
}

TEST(Ledger, GivesMinibatchesLongerThanATickTheirWholeEnergy) {
  Ledger ledger;
  ledger.tick(at({}), 20000, std::nullopt);
  for (int i = 1; i <= 60; ++i) {
    if (i % 6 == 0) {
      Minibatch slow = minibatch(0);
      slow.elapsed = milliseconds(600);
      ledger.add(slow);
    }
    ledger.tick(at(kLedgerTick * i), 20000, std::nullopt);
  }
  EXPECT_NEAR(ledger.epochs(Kind::train)[0].energy_j, 120.0, 1e-9);
}

// What the board draws before the workload comes and after it has gone is not an epoch's. The share
// of an epoch's first minibatch is known only by its time, so one minibatch (2 J) may be off.
TEST(Ledger, GivesNoEpochTheEnergyOfIdleTime) {
  Ledger ledger;
  for (int i = 0; i <= 100; ++i) ledger.tick(at(kLedgerTick * i), 5000, std::nullopt);
  for (int i = 101; i <= 110; ++i) {
    ledger.add(minibatch(0));
    ledger.tick(at(kLedgerTick * i), 20000, std::nullopt);
  }
  for (int i = 111; i <= 200; ++i) ledger.tick(at(kLedgerTick * i), 5000, std::nullopt);
  EXPECT_NEAR(ledger.epochs(Kind::train)[0].energy_j, 20.0, 2.0);
  EXPECT_NEAR(ledger.energy_j(), 50.0 + 20.0 + 45.0, 1e-6);
  // A second run begins after the pause, with an epoch of its own.
  for (int i = 201; i <= 210; ++i) {
    ledger.add(minibatch(1));
    ledger.tick(at(kLedgerTick * i), 20000, std::nullopt);
  }
  EXPECT_NEAR(ledger.epochs(Kind::train)[0].energy_j, 20.0, 2.0);
  EXPECT_NEAR(ledger.epochs(Kind::train)[1].energy_j, 20.0, 2.0);
}

// Nor where the next job counts from the same epoch.
TEST(Ledger, KeepsTheEpochsOfTwoWorkloadsApart) {
  Ledger ledger;
  ledger.tick(at({}), 5000, std::nullopt);
  for (int i = 1; i <= 110; ++i) {
    const bool idle = i > 10 && i <= 100;
    Minibatch next = minibatch(0);
    next.workload = i <= 10 ? 1 : 2;
    if (!idle) ledger.add(next);
    ledger.tick(at(kLedgerTick * i), idle ? 5000 : 20000, std::nullopt);
  }
  ASSERT_EQ(ledger.epochs(Kind::train).size(), 2U);
  EXPECT_NEAR(ledger.epochs(Kind::train)[0].energy_j, 20.0, 2.0);
  EXPECT_NEAR(ledger.epochs(Kind::train)[1].energy_j, 20.0, 2.0);
}

TEST(Ledger, StaysFiniteOnAMinibatchThatTookNoTime) {
  Ledger ledger;
  ledger.tick(at({}), 20000, std::nullopt);
  Minibatch empty = minibatch(0);
  empty.batch_size = 0;
  empty.elapsed = empty.compute = empty.fetch_stall = {};
  ledger.add(empty);
  ledger.tick(at(kLedgerTick), 20000, std::nullopt);
  EXPECT_EQ(ledger.epochs(Kind::train)[0].samples, 0U);
  EXPECT_GE(ledger.epochs(Kind::train)[0].energy_j, 0.0);
  EXPECT_LE(ledger.epochs(Kind::train)[0].energy_j, 2.0 + 1e-9);
}

}  // namespace
}  // namespace gearshift
