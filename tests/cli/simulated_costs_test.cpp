#include "cli/simulated_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>
#include <string>

#include "tests/trace/written_recording.h"

namespace gearshift {
namespace {

using testing::HasSubstr;

struct SelectedProfile : testing::Test {
  SelectedProfile() {
    std::ofstream(file) << "device,workload,kind,batch_size,gpu_mhz,minibatch_ms,power_w\n"
                           "b,n,train,16,300,20,10\n"
                           "c,n,train,16,300,40,12\n"
                           "c,m,train,16,300,60,12\n"
                           "c,n,infer,4,300,5,8\n";
  }
  std::unique_ptr<Profile> select(const WantedProfile& wanted) {
    return select_profile(files, file, "", wanted);
  }
  std::string refusal(const WantedProfile& wanted) {
    try {
      select(wanted);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }
  void put(const std::string& rows) {
    file += "x";
    std::ofstream(file) << "device,workload,kind,batch_size,gpu_mhz,minibatch_ms,power_w\n" + rows;
  }
  std::string file = testing::TempDir() + "simulated_costs.csv";
  ProfileFiles files;
};

TEST_F(SelectedProfile, IsTheBoardsWhereSeveralDevicesHaveIt) {
  EXPECT_EQ(select({Kind::train, "n", {"b"}})->device, "b");
  EXPECT_EQ(select({Kind::train, "n", {"alias", "c"}})->device, "c");
  EXPECT_EQ(select({Kind::infer, "n", {"b"}})->device, "c") << "there is no other";
  EXPECT_EQ(select({Kind::train, "m", {}})->device, "c");
}

TEST_F(SelectedProfile, IsNoneOfAnotherBoard) {
  put("jetson-agx-orin,n,train,16,300,20,10\n");
  for (const char* board : {"jetson-nano", "host"}) {
    const std::string told = refusal({Kind::train, "n", {"nano", board}});
    EXPECT_THAT(told, HasSubstr("nothing fits for train of the name n on " + std::string(board)));
    EXPECT_THAT(told, HasSubstr("leave --board out"));
    EXPECT_THAT(told, HasSubstr("it has n (train) on jetson-agx-orin"));
  }
}

TEST_F(SelectedProfile, IsTakenByWhateverNameItsDeviceHas) {
  put("orin_agx,n,train,16,300,20,10\n");
  for (const char* board : {"jetson-agx-orin", "jetson-agx-orin-jetpack5", "from-my-own-file"}) {
    EXPECT_EQ(select({Kind::train, "n", {board}})->device, "orin_agx");
  }
  put("bench-3,n,train,16,300,20,10\n");
  EXPECT_EQ(select({Kind::train, "n", {"nano", "jetson-nano"}})->device, "bench-3");
}

TEST_F(SelectedProfile, IsNamedWithItsDeviceWhereThereIsAChoice) {
  EXPECT_THAT(refusal({Kind::train, "n", {}}), HasSubstr("several fit for train of the name n"));
  EXPECT_THAT(refusal({Kind::train, "n", {"d"}}), HasSubstr("of several devices with --board"));
  EXPECT_THAT(refusal({Kind::train, "n", {}}),
              HasSubstr("it has n (train) on b, n (train) on c, m (train) on c, n (infer) on c"));
  EXPECT_THAT(refusal({Kind::train, "", {"c"}}), HasSubstr("several fit"));
}

// Once for both workloads of a pair, on standard error.
TEST(TracedProfile, IsTakenWithAWordOfWhatTheRecordingHasBesides) {
  fakes::Written run;
  run.attach(fakes::trainer());
  run.observe(fakes::mode(2, 600000));
  run.drift();
  run.observe(fakes::mode(4, 900000));
  run.finish();
  ProfileFiles files;
  testing::internal::CaptureStderr();
  EXPECT_EQ(select_profile(files, "", run.file, {Kind::train, "", {}})->cells().size(), 1U);
  EXPECT_THROW(select_profile(files, "", run.file, {Kind::infer, "", {}}), std::invalid_argument);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "left out: 1 measurements from before the workload or the board changed, as the run "
            "found by itself\n");
}

TEST(TracedProfile, IsNoneWhereNothingWasMeasuredSinceADrift) {
  fakes::Written run;
  run.attach(fakes::trainer());
  run.observe(fakes::mode(2, 600000));
  run.drift();
  run.finish();
  ProfileFiles files;
  try {
    select_profile(files, "", run.file, {Kind::train, "", {}});
    FAIL() << "there is no profile";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("--trace " + run.file.string() + ": "));
    EXPECT_THAT(error.what(), HasSubstr("before the workload or the board changed"));
  }
}

}  // namespace
}  // namespace gearshift
