#include "limits/trained_samples.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace gearshift {
namespace {

using std::chrono::seconds;

constexpr std::uint32_t kEpochs = 8;
constexpr std::uint32_t kMostEpoch = std::numeric_limits<std::uint32_t>::max();

// A training of 100 samples an epoch.
struct Trained {
  explicit Trained(std::int64_t samples_per_epoch = 100) {
    workload.samples_per_epoch = samples_per_epoch;
    workload.batch_size = 16;
    workload.batch_sizes = {16, 64};
    workload.batch_size_count = 2;
  }
  // Its count of minibatches goes on, or to `sequence`.
  void add(std::uint32_t epoch, std::int32_t batch_size, std::uint64_t sequence = 0) {
    Minibatch minibatch;
    minibatch.epoch = epoch;
    minibatch.batch_size = batch_size;
    minibatch.sequence = last = sequence > 0 ? sequence : last + 1;
    minibatch.elapsed = seconds(2);
    minibatch.received = now += seconds(2);
    samples.add(minibatch, workload, kEpochs);
  }
  // Nothing more comes for so long.
  bool over(Duration later = seconds(7)) const {
    return samples.over(workload, kEpochs, now + later);
  }

  Workload workload;
  TrainedSamples samples;
  std::uint64_t last = 0;
  Time now{};
};

TEST(TrainedSamples, EndAnEpochWhoseLastMinibatchDidNotArrive) {
  Trained run;
  for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
    EXPECT_FALSE(run.over()) << epoch;
    EXPECT_EQ(run.samples.count(), 100 * epoch - (epoch > 0 ? 36 : 0));
    run.add(epoch, 64);
  }
  EXPECT_EQ(run.samples.left(run.workload, kEpochs), 36);
  EXPECT_FALSE(run.over(seconds(6))) << "it may be under way";
  EXPECT_TRUE(run.over()) << "nothing but a smaller minibatch is left";
}

TEST(TrainedSamples, AreNotOverBeforeAnythingIsTrained) {
  Trained run(32);
  run.workload.batch_sizes = {64};
  run.workload.batch_size_count = 1;
  EXPECT_FALSE(run.over());
}

// However large a minibatch could be.
TEST(TrainedSamples, AreNotOverWhileMinibatchesOfTheNewestSizeAreLeft) {
  Trained run(1000);
  run.workload.batch_sizes = {8, 512};
  for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (int i = 0; i < 125; ++i) {
      EXPECT_FALSE(run.over()) << epoch << ", " << i;
      run.add(epoch, 8);
    }
  }
  EXPECT_TRUE(run.over(seconds(0)));
}

TEST(TrainedSamples, CountWholeMinibatchesThatReachIntoTheNextEpochOnce) {
  Trained run;
  int batches = 0;
  for (; batches < 12; ++batches) run.add(static_cast<std::uint32_t>(64 * batches / 100), 64);
  EXPECT_EQ(run.samples.count(), 64 * batches);
}

TEST(TrainedSamples, CountWhatAClientLeavesOut) {
  Trained run(1000);
  run.add(0, 16, 1);
  run.add(0, 16, 21);
  EXPECT_EQ(run.samples.count(), 21 * 16);
  run.add(0, 16, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(run.samples.count(), 1000) << "no more than its epoch has";
}

TEST(TrainedSamples, GoOnWhereATrainingIsThatWasThereBefore) {
  Trained run;
  run.add(5, 64, 300);
  EXPECT_EQ(run.samples.count(), 564);
  run.add(6, 64);
  EXPECT_EQ(run.samples.count(), 664) << "what was not seen of the epoch was trained too";
}

TEST(TrainedSamples, CountOnWhereATrainingNumbersItsEpochsFromTheStartAgain) {
  Trained run;
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) run.add(epoch, 64);
  EXPECT_EQ(run.samples.count(), 264);
  run.samples.attached();
  run.add(0, 64, 1);
  run.add(1, 64);
  EXPECT_EQ(run.samples.count(), 264 + 100 + 64);
  run.samples.attached();  // its connection was lost for one epoch
  run.add(3, 64, 7);
  EXPECT_EQ(run.samples.count(), 264 + 300 + 64);
}

TEST(TrainedSamples, TakeEpochsThatAreNumberedFromOneAsTheyAreTrained) {
  Trained run;
  for (std::uint32_t epoch = 1; epoch < kEpochs; ++epoch) run.add(epoch, 64);
  EXPECT_FALSE(run.over());
  run.add(kEpochs, 64);
  EXPECT_TRUE(run.over());
}

// Its first minibatches pass before the daemon has welcomed it.
TEST(TrainedSamples, TakeEpochsFromOneForWhatTheyAreWhereTheFirstReportIsNotTheFirst) {
  Trained run;
  run.add(1, 16, 3);
  EXPECT_EQ(run.samples.count(), 16);
  for (std::uint32_t epoch = 2; epoch <= kEpochs; ++epoch) {
    EXPECT_FALSE(run.over()) << epoch;
    run.add(epoch, 64);
  }
  EXPECT_TRUE(run.over());
}

TEST(TrainedSamples, CountFromOneWhereADaemonBeganAnewInTheLastEpoch) {
  Trained run;
  run.add(kEpochs, 64, 8 * 2 - 1);
  EXPECT_EQ(run.samples.count(), 764);
  EXPECT_TRUE(run.over());
}

// Numbered from one, each epoch with minibatches of its own size.
TEST(TrainedSamples, CountFromOneWhereADaemonBeganAnewThoughBatchesHaveGrown) {
  Trained run(1000);
  run.add(6, 64, 2 * 63 + 3 * 16 + 5);
  EXPECT_EQ(run.samples.count(), 5064);
  for (const std::uint32_t epoch : {6U, 7U}) {
    for (int i = 0; i < 15; ++i) run.add(epoch, 64);
  }
  EXPECT_FALSE(run.over());
  for (int i = 0; i < 15; ++i) run.add(kEpochs, 64);
  EXPECT_TRUE(run.over());
}

TEST(TrainedSamples, CountByTheSmallestBatchThatATrainingMayHaveRun) {
  Trained own(1000);
  own.workload.batch_size = 8;  // which is not among those that it offers
  own.add(2, 16, 128);
  EXPECT_EQ(own.samples.count(), 1016) << "127 minibatches of 8 are not yet two epochs";
  Trained alone(1000);
  alone.workload.batch_size_count = 0;
  alone.add(2, 16, 128);
  EXPECT_EQ(alone.samples.count(), 2016) << "it has no other size";
}

// Nobody tells whether it counts from 0 or 1: less is counted, and nothing is over too early.
TEST(TrainedSamples, CountOneEpochLessOfAProcessThatGoesOnFromWhatAnotherSaved) {
  Trained run;
  run.add(5, 64, 1);
  EXPECT_EQ(run.samples.count(), 464);
}

TEST(TrainedSamples, AreTrainedAgainWhereAProcessGoesOnFromWhatItSaved) {
  Trained run;
  for (const std::uint32_t epoch : {0U, 0U, 1U, 1U, 2U, 2U}) run.add(epoch, 50);
  for (int crash = 0; crash < 3; ++crash) {
    run.samples.attached();
    run.add(2, 16, 1);
    EXPECT_EQ(run.samples.count(), 216) << crash;
  }
  run.samples.attached();
  run.add(1, 64, 1);
  EXPECT_EQ(run.samples.count(), 164) << "what it saved is older";
  run.add(2, 64);
  EXPECT_EQ(run.samples.count(), 264);
}

TEST(TrainedSamples, AConnectionThatWasLostTakesNothingBack) {
  Trained run;
  run.add(0, 64);
  run.add(1, 64);
  run.samples.attached();
  run.add(1, 16, 5);
  EXPECT_EQ(run.samples.count(), 100 + 64 + 16);
}

// A trainer's mistake, such as the number of the minibatch for that of the epoch.
TEST(TrainedSamples, ANumberThatCannotBeEndsNothing) {
  for (const std::uint32_t absurd : {kEpochs, std::uint32_t{1'000'000}, kMostEpoch}) {
    Trained run(10'000);
    run.add(absurd, 64, 500);
    EXPECT_EQ(run.samples.count(), 64 + (absurd == kEpochs ? 70'000 : 0)) << absurd;
    run.add(0, 64);
    run.add(absurd, 64);
    run.add(absurd - 1, 64);
    EXPECT_LE(run.samples.count(), 4 * 64 + 10'000 + (absurd == kEpochs ? 70'000 : 0)) << absurd;
    EXPECT_FALSE(run.over());
  }
  Trained counts(10'000);
  for (std::uint32_t number = 0; number < 100; ++number) counts.add(number, 64);
  EXPECT_EQ(counts.samples.count(), 6400);
  Trained again;
  for (std::uint32_t epoch = 0; epoch < 6; ++epoch) again.add(epoch, 64);
  again.samples.attached();
  again.add(0, 64, 1);
  again.samples.attached();
  again.add(5, 16, 500);
  EXPECT_EQ(again.samples.left(again.workload, kEpochs), 100 - 16);
}

TEST(TrainedSamples, CountMinibatchesWhereNoEpochIsTold) {
  Trained run(0);
  run.add(kMostEpoch, 64, 9);
  run.add(3, 64, 4);
  EXPECT_EQ(run.samples.count(), 128);
  EXPECT_FALSE(run.over());
}

}  // namespace
}  // namespace gearshift
