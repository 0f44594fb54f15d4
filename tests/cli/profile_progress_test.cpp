// What a sweep measures is kept under its own knobs, or refused before anything is measured.
#include "cli/profile_progress.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "cli/profile_knobs.h"
#include "tests/fakes/fake_world.h"
#include "tests/fakes/temp_tree.h"
#include "trace/profile_csv.h"

namespace gearshift {
namespace {

constexpr const char* kOther =
    "device,workload,kind,batch_size,cpu_cores,mem_mhz,minibatch_ms,power_w\n"
    "fake,resnet18,train,16,4,3199,60,20\n";

PowerMode mode_of(std::int64_t first, std::int64_t second) {
  return {.values = {first, second}, .count = 2};
}

// A sweep of one mode, from the attach of its workload to the measurement.
struct Sweep {
  explicit Sweep(KnobSpace space, std::vector<Profile> known = {})
      : knobs(std::move(space)),
        policy("fake", {mode_of(knobs.knobs[0].values[0], knobs.knobs[1].values[0])}, {}, known),
        progress(policy, knobs, std::move(known), {file, "fake", true}, out) {}

  // Why it is refused when `workload` has attached and the first setting is asked for.
  std::string refused(const Workload& workload = fakes::trainer()) {
    PolicyContext context;
    context.workloads[index(workload.kind)] = &workload;
    setting = policy.start(context).setting;
    try {
      progress.note({.type = NoteType::setting, .setting = &setting});
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }
  void attach(WorkloadHandle handle, bool managed) {
    progress.note({.type = NoteType::attached, .workload = handle, .value = managed});
  }
  void measure(Duration minibatch, Time ended = {}) {
    observation.setting = setting;
    observation.power_mean_mw = 15000;
    observation.cost[0].minibatches = 40;
    observation.cost[0].minibatch_mean = minibatch;
    progress.note({.type = NoteType::observation, .time = ended, .observation = &observation});
  }

  fakes::TempTree folder;
  std::filesystem::path file = folder.at("x.csv");
  KnobSpace knobs;
  SweepPolicy policy;
  Outlet out{-1};
  ProfileProgress progress;
  Setting setting;
  Observation observation;  // the next measurement, but for its cost
};

KnobSpace cores_and_gpu() {
  return {{{"cpu_cores", Unit::count, KnobClass::hotplug, {4}},
           {"gpu_mhz", Unit::khz, KnobClass::clock, {900000}}}};
}

TEST(ProfileProgress, RefusesRowsOfOtherKnobsWithBothLists) {
  Sweep sweep(cores_and_gpu(), parse_profiles(kOther, "x.csv"));
  const std::string why = sweep.refused();
  EXPECT_NE(why.find("x.csv: resnet18 of fake has the knobs cpu_cores, mem_mhz in MHz there, and "
                     "cpu_cores, gpu_mhz in MHz can be set here"),
            std::string::npos)
      << why;
  EXPECT_NE(why.find("-o"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(sweep.file));
}

TEST(ProfileProgress, OtherWorkloadsMayHaveOtherKnobs) {
  Sweep sweep(cores_and_gpu(), parse_profiles(kOther, "x.csv"));
  ASSERT_EQ(sweep.refused(fakes::trainer(1, "lenet")), "");
  sweep.measure(std::chrono::milliseconds(50));
  const std::vector<Profile> kept = read_profiles(sweep.file);
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[1].workload, "lenet");
  EXPECT_EQ(kept[1].knobs().knobs.at(1).name, "gpu_mhz");
}

TEST(ProfileProgress, RefusesAWorkloadWhoseNameNoFileHolds) {
  Sweep sweep(cores_and_gpu());
  EXPECT_EQ(sweep.refused(fakes::trainer(1, "ResNet 18 (fp16)")), "");
  Sweep other(cores_and_gpu());
  const std::string why = other.refused(fakes::trainer(1, "resnet "));
  EXPECT_NE(why.find("'resnet ' cannot be written"), std::string::npos) << why;
}

TEST(ProfileProgress, ARowThatIsMeasuredAgainTakesTheOldOnesPlace) {
  Sweep sweep(cores_and_gpu());
  ASSERT_EQ(sweep.refused(), "");
  sweep.measure(std::chrono::milliseconds(50));
  sweep.measure(std::chrono::milliseconds(70));
  const std::vector<Profile> kept = read_profiles(sweep.file);
  ASSERT_EQ(kept.at(0).cells().size(), 1U);
  EXPECT_EQ(kept[0].cells()[0].minibatch_ms, 70);
}

// The docs say so of two workloads at once: a row would have the power of both.
TEST(ProfileProgress, LeavesOutWhatWasMeasuredBesideAWorkloadThatIsOnlyObserved) {
  Sweep sweep(cores_and_gpu());
  sweep.attach(1, true);
  ASSERT_EQ(sweep.refused(), "");
  sweep.attach(2, false);
  sweep.observation.duration = std::chrono::seconds(10);
  sweep.measure(std::chrono::milliseconds(50), Time{} + std::chrono::seconds(20));
  EXPECT_EQ(sweep.progress.measured(), 0U);
  ASSERT_EQ(sweep.progress.left_out().size(), 1U);
  EXPECT_EQ(sweep.progress.left_out()[0].second,
            "another workload ran beside it: the power is no one's own");
  EXPECT_FALSE(std::filesystem::exists(sweep.file));

  sweep.progress.note(
      {.type = NoteType::detached, .time = Time{} + std::chrono::seconds(25), .workload = 2});
  sweep.measure(std::chrono::milliseconds(50), Time{} + std::chrono::seconds(30));
  EXPECT_EQ(sweep.progress.measured(), 0U) << "it left while that was measured";
  sweep.measure(std::chrono::milliseconds(50), Time{} + std::chrono::seconds(40));
  EXPECT_EQ(sweep.progress.measured(), 1U);
  EXPECT_EQ(read_profiles(sweep.file).at(0).cells().size(), 1U);
}

TEST(ProfileProgress, CountsSettingsWhosePowerIsAnEstimate) {
  Sweep sweep(cores_and_gpu());
  ASSERT_EQ(sweep.refused(), "");
  sweep.observation.power_is_estimate = true;
  sweep.measure(std::chrono::milliseconds(50));
  EXPECT_EQ(sweep.progress.estimated(), 1U);
  sweep.observation.power_is_estimate = false;
  sweep.measure(std::chrono::milliseconds(50));
  EXPECT_EQ(sweep.progress.measured(), 2U);
  EXPECT_EQ(sweep.progress.estimated(), 1U);
}

// The board file of a GPU names its power limit first, the columns of a profile last.
TEST(ProfileKnobs, AreBroughtIntoTheOrderOfTheBoard) {
  const KnobSpace gpu = {{{"power_limit_w", Unit::mw, KnobClass::power_limit, {100000, 300000}},
                          {"gpu_mhz", Unit::khz, KnobClass::clock, {900000, 1400000}}}};
  const Profile read =
      parse_profiles(
          "device,workload,kind,batch_size,gpu_mhz,power_limit_w,minibatch_ms,power_w\n"
          "fake,resnet18,train,16,900,300,60,20\nfake,resnet18,train,16,1400,100,70,20\n",
          "x.csv")
          .at(0);
  const Profile ordered = in_order_of(gpu, read);
  EXPECT_EQ(ordered.knobs().knobs.at(0).name, "power_limit_w");
  ASSERT_EQ(ordered.cells().size(), 2U);
  const ProfileCell* cell = ordered.find(mode_of(300000, 900000), 16);
  ASSERT_NE(cell, nullptr);
  EXPECT_EQ(cell->minibatch_ms, 60);

  Sweep sweep(gpu, {ordered});
  ASSERT_EQ(sweep.refused(), "");
  sweep.measure(std::chrono::milliseconds(80));
  EXPECT_EQ(format_profiles(read_profiles(sweep.file)),
            "device,workload,kind,batch_size,cpu_cores,cpu_mhz,gpu_mhz,mem_mhz,power_limit_w,"
            "minibatch_ms,epoch_s,power_w\n"
            "fake,resnet18,train,16,,,900,,300,60,,20\nfake,resnet18,train,16,,,1400,,100,70,,20\n"
            "fake,resnet18,train,16,,,900,,100,80,,15\n");

  const Profile other = parse_profiles(kOther, "x.csv").at(0);
  EXPECT_EQ(in_order_of(gpu, other).knobs().knobs.at(0).name, "cpu_cores") << "as it was";
  EXPECT_EQ(knob_list({}), "no knob");
}

}  // namespace
}  // namespace gearshift
