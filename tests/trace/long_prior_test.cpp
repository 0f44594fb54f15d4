// Measured tables as long as one may be are recorded, and read again.
#include <gtest/gtest.h>

#include "tests/fakes/temp_tree.h"
#include "tests/trace/recorded_run.h"
#include "trace/profile_csv.h"
#include "trace/recording_reader.h"

namespace gearshift {
namespace {

TEST(Recording, GivesALongPriorBack) {
  KnobSpace knobs{.knobs = {{"cpu_mhz", Unit::khz, KnobClass::clock, {}},
                            {"gpu_mhz", Unit::khz, KnobClass::clock, {}}}};
  for (Knob& knob : knobs.knobs) {
    for (std::int64_t step = 1; step <= 350; ++step) knob.values.push_back(1000 * step);
  }
  Profile prior(knobs);
  prior.device = std::string(64, 'd');
  prior.workload = std::string(64, 'w');
  for (const std::int64_t cpu : knobs.knobs[0].values) {
    for (const std::int64_t gpu : knobs.knobs[1].values) {
      prior.add({.mode = {{cpu, gpu}, 2},
                 .batch_size = 16,
                 .minibatch_ms = 40.123456789,
                 .power_w = 20,
                 .epoch_s = {}});
    }
  }
  ASSERT_GT(format_profiles({&prior, 1}).size(), std::size_t{16} << 20);
  const fakes::Hardware hardware;
  RecordingHeader header = fakes::fake_header(hardware);
  const Profile* const priors[] = {&prior};
  header.options.prior = priors;
  fakes::TempTree folder;
  RecordingWriter(folder.at("run.db"), header, {}).finish();
  RecordingReader reader(folder.at("run.db"));
  ASSERT_EQ(reader.header().priors.size(), 1U);
  EXPECT_EQ(reader.header().priors[0].cells(), prior.cells());
}

}  // namespace
}  // namespace gearshift
