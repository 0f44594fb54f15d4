#include "boards/nvml_gpu.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/fakes/fake_gpus.h"

namespace gearshift {
namespace {

using fakes::FakeGpus;
using fakes::TempTree;
using testing::Test;

constexpr char kUuid[] = "GPU-00000000-aaaa";

class NvmlGpuTest : public Test {
 protected:
  std::string failure(const std::string& which) {
    try {
      NvmlGpu gpu(root_, which);
      gpu.power_mw();
    } catch (const NvmlError& error) {
      return error.what();
    }
    return "no NvmlError";
  }
  static bool contains(const std::string& text, std::string_view words) {
    return text.find(words) != std::string::npos;
  }

  FakeGpus gpus_;
  TempTree tree_;
  Sysroot root_{tree_.root()};
};

TEST_F(NvmlGpuTest, IsFoundByIndexAndByUuid) {
  gpus_.add(0);
  gpus_.add(1);
  EXPECT_EQ(NvmlGpu(root_, "1").uuid(), "GPU-10000000-aaaa");
  EXPECT_EQ(NvmlGpu(root_, kUuid).uuid(), kUuid);
  EXPECT_EQ(NvmlGpu(root_, "0").name(), "Fake A100");
  EXPECT_EQ(NvmlGpu(root_, "0").capability(), 80);
}

TEST_F(NvmlGpuTest, AnUnknownOneIsAnsweredWithThoseThereAre) {
  gpus_.add(0);
  for (const char* which : {"1", "GPU-9", "Tesla", "", "-1", "0x0"}) {
    const std::string text = failure(which);
    EXPECT_TRUE(contains(text, "GPU '" + std::string(which) + "'")) << text;
    EXPECT_TRUE(contains(text, "0 (Fake A100, GPU-00000000-aaaa)")) << text;
  }
}

TEST_F(NvmlGpuTest, AnInstanceOfMigIsToldToNameItsGpu) {
  gpus_.add(0);
  EXPECT_TRUE(contains(failure("MIG-1234"), "name its GPU")) << failure("MIG-1234");
  EXPECT_FALSE(NvmlGpu(root_, "0").is_mig());
  gpus_.put("mig", "1 1");
  EXPECT_TRUE(NvmlGpu(root_, "0").is_mig());
}

TEST_F(NvmlGpuTest, ALibraryThatIsNotThereOrIsNoneIsNamed) {
  setenv("GEARSHIFT_NVML", "/nowhere/libnvidia-ml.so.1", 1);
  EXPECT_TRUE(contains(failure("0"), "/nowhere/libnvidia-ml.so.1")) << failure("0");
  setenv("GEARSHIFT_NVML", "libm.so.6", 1);
  EXPECT_TRUE(contains(failure("0"), "it has no nvmlInit_v2")) << failure("0");
  setenv("GEARSHIFT_NVML", "", 1);
  EXPECT_TRUE(contains(failure("0"), "GEARSHIFT_NVML is empty")) << failure("0");
}

TEST_F(NvmlGpuTest, IsNotLookedForBelowAnotherSysroot) {
  unsetenv("GEARSHIFT_NVML");
  EXPECT_TRUE(contains(failure("0"), "not of those below the sysroot")) << failure("0");
}

TEST_F(NvmlGpuTest, IsNeverUsedOnATegra) {
  gpus_.add(0);
  tree_.put("/proc/device-tree/compatible", std::string("nvidia,p3701\0nvidia,tegra234\0", 29));
  EXPECT_TRUE(contains(failure("0"), "Tegra")) << failure("0");
}

TEST_F(NvmlGpuTest, ADriverThatIsNotLoadedIsNamedWithTheWayOut) {
  gpus_.put_init("error 9");
  EXPECT_TRUE(contains(failure("0"), "DRIVER_NOT_LOADED")) << failure("0");
  EXPECT_TRUE(contains(failure("0"), "nvidia-smi")) << failure("0");
}

TEST_F(NvmlGpuTest, PrefersPresentPowerToTheMean) {
  gpus_.add(0);
  gpus_.put("power_usage", "90000");
  NvmlGpu gpu(root_, "0");
  EXPECT_EQ(gpu.power_mw(), 60000);
  gpus_.remove("power_instant");
  EXPECT_EQ(gpu.power_mw(), 90000);
  gpus_.put("power_usage", "0");
  EXPECT_TRUE(contains(failure("0"), "0 W")) << failure("0");
  gpus_.remove("power_usage");
  EXPECT_TRUE(contains(failure("0"), "NOT_SUPPORTED")) << failure("0");
}

TEST_F(NvmlGpuTest, TheLimitInForceMayBeLowerThanTheOneThatWasSet) {
  gpus_.add(0);
  NvmlGpu gpu(root_, "0");
  EXPECT_EQ(gpu.enforced_power_limit_mw(), 250000);
  gpus_.put("enforced_mw", "180000");
  EXPECT_EQ(gpu.enforced_power_limit_mw(), 180000);
  EXPECT_EQ(gpu.power_limit_mw(), 250000);
}

TEST_F(NvmlGpuTest, ARefusalNamesTheFunctionItsArgumentTheGpuAndTheWayOut) {
  gpus_.add(0);
  gpus_.put("set_limit", "error 4");
  NvmlGpu gpu(root_, "0");
  try {
    gpu.set_power_limit_mw(200000);
    FAIL() << "no NvmlError";
  } catch (const NvmlError& error) {
    EXPECT_EQ(error.code(), NvmlCode::no_permission);
    const std::string text = error.what();
    EXPECT_TRUE(contains(text, "nvmlDeviceSetPowerManagementLimit(200000) of GPU-00000000-aaaa"))
        << text;
    EXPECT_TRUE(contains(text, "run gearshift as root")) << text;
  }
}

TEST_F(NvmlGpuTest, AValueThatTheDriverDoesNotTakeIsNamedAsSuch) {
  gpus_.add(0);
  NvmlGpu gpu(root_, "0");
  try {
    gpu.set_power_limit_mw(450000);
    FAIL() << "no NvmlError";
  } catch (const NvmlError& error) {
    EXPECT_EQ(error.code(), NvmlCode::invalid_argument);
    EXPECT_TRUE(contains(error.what(), "(450000) of GPU-00000000-aaaa: INVALID_ARGUMENT"))
        << error.what();
  }
  EXPECT_TRUE(contains(explain(NvmlCode::insufficient_size), "INSUFFICIENT_SIZE"));
}

TEST_F(NvmlGpuTest, AGpuThatWasLostIsFoundAgainUnderItsUuid) {
  gpus_.add(0);
  NvmlGpu gpu(root_, "0");
  gpus_.put("lost", "error 15");
  EXPECT_THROW(gpu.power_mw(), NvmlError);
  EXPECT_THROW(gpu.power_mw(), NvmlError);
  // After its reset another GPU has its index.
  gpus_.remove("lost");
  gpus_.add(1);
  gpus_.put("uuid", kUuid, 1);
  gpus_.put("uuid", "GPU-other", 0);
  gpus_.put("power_instant", "77000", 1);
  EXPECT_EQ(gpu.power_mw(), 77000);
}

TEST_F(NvmlGpuTest, ADriverThatWasUnloadedIsInitialisedAgain) {
  gpus_.add(0);
  NvmlGpu gpu(root_, "0");
  gpus_.put_init("error 1");
  EXPECT_THROW(gpu.power_mw(), NvmlError);
  gpus_.put_init("");
  EXPECT_EQ(gpu.power_mw(), 60000);
}

TEST_F(NvmlGpuTest, AGpuThatWasLostIsFoundAgainByADriverThatWasLoadedAgain) {
  gpus_.add(0);
  NvmlGpu gpu(root_, "0");
  gpus_.put("lost", "error 15");
  EXPECT_THROW(gpu.power_mw(), NvmlError);
  gpus_.reload_driver();
  gpus_.remove("lost");
  EXPECT_THROW(gpu.power_mw(), NvmlError) << "told by the look-up itself";
  EXPECT_EQ(gpu.power_mw(), 60000);
}

TEST_F(NvmlGpuTest, ClocksAreSortedAndThoseOfTheGpuGoWithTheHighestOfTheMemory) {
  gpus_.add(0);
  NvmlGpu gpu(root_, "0");
  EXPECT_EQ(gpu.supported_mhz(ClockDomain::memory), (std::vector<std::int64_t>{405, 1215, 1593}));
  EXPECT_EQ(gpu.supported_mhz(ClockDomain::graphics),
            (std::vector<std::int64_t>{300, 600, 900, 1200, 1410}));
  EXPECT_EQ(gpu.graphics_mhz(405), (std::vector<std::int64_t>{300}));
}

TEST_F(NvmlGpuTest, ThePowerLimitAndIdlenessAreNoThrottling) {
  gpus_.add(0);
  NvmlGpu gpu(root_, "0");
  EXPECT_EQ(gpu.is_throttled(), false);
  gpus_.put("reasons", "4");
  EXPECT_EQ(gpu.is_throttled(), false);
  gpus_.put("reasons", "68");  // the power limit, and heat
  EXPECT_EQ(gpu.is_throttled(), true);
  gpus_.put("reasons", "0");
  EXPECT_EQ(gpu.is_throttled(), std::nullopt);
}

class GpuDetectionTest : public NvmlGpuTest {
 protected:
  std::string detected() {
    const Detection detection = detect_board(root_, built_in_boards());
    evidence_.clear();
    for (const std::string& line : detection.evidence) evidence_ += line + '\n';
    return detection.board->id;
  }
  std::string evidence_;
};

TEST_F(GpuDetectionTest, AMachineWhoseGpuReportsPowerIsOne) {
  gpus_.add(0);
  EXPECT_EQ(detected(), "nvidia-gpu");
  EXPECT_TRUE(contains(evidence_,
                       "GPU 0: Fake A100, GPU-00000000-aaaa, limit 100 to 300 W (default 250 W), "
                       "draws 60 W"))
      << evidence_;
}

TEST_F(GpuDetectionTest, NvmlThatAnswersAndReportsNothingIsNoGpu) {
  EXPECT_EQ(detected(), "host");
  EXPECT_TRUE(contains(evidence_, "NVML knows of no GPU")) << evidence_;
  gpus_.add(0);
  gpus_.remove("power_instant");
  EXPECT_EQ(detected(), "host");
  EXPECT_TRUE(contains(evidence_, "nvmlDeviceGetPowerUsage")) << evidence_;
}

TEST_F(GpuDetectionTest, WithoutALibraryTheMachineIsAHost) {
  setenv("GEARSHIFT_NVML", "", 1);
  EXPECT_EQ(detected(), "host");
}

TEST_F(GpuDetectionTest, AJetsonIsNotAskedThroughNvml) {
  gpus_.add(0);
  const std::string jetson("nvidia,p3737-0000+p3701-0005\0nvidia,tegra234\0", 46);
  tree_.put("/proc/device-tree/compatible", jetson);
  EXPECT_EQ(detected(), "jetson-agx-orin");
  tree_.put("/proc/device-tree/compatible", std::string("acme,unknown\0nvidia,tegra264\0", 29));
  EXPECT_EQ(detected(), "host");
  EXPECT_FALSE(contains(evidence_, "Fake A100")) << evidence_;
}

}  // namespace
}  // namespace gearshift
