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

}  // namespace
}  // namespace gearshift
