// A workload that comes back under its name may offer other batch sizes than it did: what it still
// offers is used, and the rest waits until it is offered again.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "controller/controller.h"
#include "tests/fakes/low_rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

Workload offering(std::initializer_list<std::int32_t> batch_sizes, WorkloadHandle handle) {
  Workload workload = trainer(handle);
  std::copy(batch_sizes.begin(), batch_sizes.end(), workload.batch_sizes.begin());
  workload.batch_size_count = static_cast<std::uint8_t>(batch_sizes.size());
  return workload;
}

// Of the observations that the policy is handed at each start, in their order.
using Seen = std::vector<std::vector<std::int32_t>>;

// Measures each batch size that the trainer offers in one mode, then holds the largest.
ListPolicy::Decide try_batches(const PowerMode& mode, Seen& seen) {
  return [mode, &seen](const PolicyContext& context, const std::vector<Observation>& answers) {
    const Workload& trainer = *context.workloads[index(Kind::train)];
    if (answers.empty()) {
      seen.emplace_back();
      for (const Observation& one : context.observations) {
        seen.back().push_back(one.setting.batch_size[index(Kind::train)]);
      }
    }
    if (answers.size() < trainer.batch_size_count) {
      return measure(mode, trainer.batch_sizes[answers.size()]);
    }
    return hold(mode, trainer.batch_sizes[trainer.batch_size_count - 1U]);
  };
}

TEST(OfferedBatches, APolicyMeetsOnlyWhatIsStillOfferedAndTheRestOnceItIsAgain) {
  Seen seen;
  Rig rig(try_batches(kFast, seen), seconds(90));
  rig.world.attach(seconds(1));  // 8, 16 and 32
  rig.world.detach(seconds(20));
  rig.world.attach(seconds(30), offering({16, 24}, 2));
  rig.world.detach(seconds(50), 2);
  rig.world.attach(seconds(60), trainer(3));
  rig.run();
  EXPECT_EQ(seen, (Seen{{}, {16}, {8, 32, 16}}));
  EXPECT_EQ(rig.summary.measurements, 4U) << "8, 16, 32 and 24, each of them once";
  EXPECT_EQ(rig.hardware.batch_size, 32);
}

TEST(OfferedBatches, AStepDownGoesToTheBestThatIsStillOfferedAndNotToTheSafeMode) {
  const auto decide = [](const PolicyContext&, const std::vector<Observation>& answers) {
    constexpr std::int32_t kBatchSizes[] = {8, 16, 32};
    if (answers.size() < 3) return measure(kMiddle, kBatchSizes[answers.size()]);
    return hold(kFast, 16);
  };
  LowRig rig(decide, seconds(60), std::nullopt);
  rig.world.attach(seconds(1));
  rig.world.detach(seconds(20));
  rig.world.attach(seconds(30), offering({8, 16}, 2));  // and not the best, which is 32
  rig.world.cap(seconds(40), 18'000);
  rig.run();
  const auto settings = rig.recorder.of(NoteType::setting);
  const auto next = std::find_if(settings.begin(), settings.end(), [](const KeptNote& note) {
    return note.time >= Time{} + seconds(40);
  });
  ASSERT_NE(next, settings.end());
  EXPECT_EQ(next->setting.mode, kMiddle);
  EXPECT_EQ(next->setting.batch_size[index(Kind::train)], 16);
}

// Measures what is offered in the fast mode, the largest first, and holds the best of it.
ListPolicy::Decide largest_first() {
  return [](const PolicyContext& context, const std::vector<Observation>& answers) {
    const Workload& trainer = *context.workloads[index(Kind::train)];
    const auto offered = static_cast<std::size_t>(trainer.batch_size_count);
    if (answers.size() < offered)
      return measure(kFast, trainer.allowed()[offered - 1 - answers.size()]);
    const Observation* best = nullptr;
    for (const Observation& answer : answers) {
      if (answer.ok() && (best == nullptr || answer.value({}) < best->value({}))) best = &answer;
    }
    return best == nullptr ? Request{} : hold(kFast, best->setting.batch_size[index(Kind::train)]);
  };
}

std::vector<std::int32_t> asked_for(const FakeWorld& world) {
  std::vector<std::int32_t> batch_sizes;
  for (const WorkloadCommand& command : world.commands) batch_sizes.push_back(command.batch_size);
  return batch_sizes;
}

TEST(OfferedBatches, ASizeThatIsRefusedIsOfferedNoMoreAndTheSearchGoesOnWithTheOthers) {
  Rig rig(largest_first(), seconds(90));
  rig.world.refuse_from = 32;
  rig.world.refusal = "batch_size: an epoch has 20 samples";
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_EQ(rig.policy.starts, 2);
  ASSERT_EQ(rig.policy.answers.size(), 2U) << "16 and 8";
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  EXPECT_EQ(rig.world.published.setting.mode, kFast);
  EXPECT_EQ(rig.hardware.batch_size, 16);
  EXPECT_EQ(asked_for(rig.world), (std::vector<std::int32_t>{32, 16, 8, 16}));
}

TEST(OfferedBatches, WhereOneDoesNotFitIntoMemoryLargerOnesAreNotTried) {
  Rig rig(
      [](const PolicyContext& context, const std::vector<Observation>&) {
        return context.workloads[index(Kind::train)]->offers(48) ? measure(kFast, 32)
                                                                 : hold(kFast, 24);
      },
      seconds(30));
  rig.world.refuse_from = 32;
  rig.world.refusal = "memory: 32 samples do not fit";
  rig.world.attach(seconds(1), offering({16, 24, 32, 48, 64}, 1));
  rig.run();
  EXPECT_EQ(rig.world.published.setting.batch_size[index(Kind::train)], 24);
}

Request hold_largest(const PolicyContext& context, const std::vector<Observation>&) {
  return hold(kFast, context.workloads[index(Kind::train)]->allowed().back());
}

void expect_a_choice_of_16(Rig& rig) {
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_EQ(rig.policy.starts, 2);
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  EXPECT_EQ(rig.hardware.batch_size, 16);
}

TEST(OfferedBatches, AChoiceThatIsRefusedIsMadeAnewAmongTheOthers) {
  Rig rig(hold_largest, seconds(30));
  rig.world.refuse_from = 32;
  rig.world.refusal = "memory: 32 samples do not fit";
  expect_a_choice_of_16(rig);
}

TEST(OfferedBatches, OneThatFailsOnceItRunsIsNoAnswerAndIsNotAskedForAgain) {
  Rig rig(largest_first(), seconds(90));
  rig.world.fails_from = 32;
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_EQ(rig.policy.starts, 2);
  ASSERT_EQ(rig.policy.answers.size(), 2U) << "16 and 8";
  EXPECT_EQ(asked_for(rig.world), (std::vector<std::int32_t>{32, 16, 8, 16}));
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  EXPECT_EQ(rig.hardware.batch_size, 16);
}

TEST(OfferedBatches, AChoiceThatFailsOnceItRunsIsMadeAnewAmongTheOthers) {
  Rig rig(hold_largest, seconds(30));
  rig.world.fails_from = 32;
  expect_a_choice_of_16(rig);
}

TEST(OfferedBatches, ASizeThatIsNotTakenUpWhileOthersRunIsOfferedNoMoreAndToldOnce) {
  Rig rig(largest_first(), seconds(180));
  rig.world.ignore_from = 32;
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_EQ(rig.policy.starts, 2);
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  EXPECT_EQ(rig.hardware.batch_size, 16);
  EXPECT_EQ(asked_for(rig.world), (std::vector<std::int32_t>{32, 16, 8, 16}));
  const auto told = rig.recorder.of(NoteType::knob_failed);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].text,
            "resnet18 does not take up batches of 32 samples, and goes on with 16: it is not asked "
            "for them again");
}

TEST(OfferedBatches, AChoiceThatIsNotTakenUpIsMadeAnewAmongTheOthers) {
  Rig rig(hold_largest, seconds(90));
  rig.world.ignore_from = 32;
  expect_a_choice_of_16(rig);
}

TEST(OfferedBatches, WhatWasRefusedIsOfferedAgainByWhoComesBack) {
  Rig rig(largest_first(), seconds(90));
  rig.world.refuse_from = 32;
  rig.world.refusal = "memory: 32 samples do not fit";
  rig.world.attach(seconds(1));
  rig.world.detach(seconds(30));
  rig.world.at(seconds(31), [&rig] { rig.world.refuse_from = 0; });
  rig.world.attach(seconds(40), trainer(2));
  rig.run();
  EXPECT_EQ(rig.policy.answers.size(), 3U);
}

}  // namespace
}  // namespace gearshift
