#include "policies/powertrain/reference.h"

#include <gtest/gtest.h>

#include "policies/powertrain/network_module.h"
#include "policies/powertrain/predictor_file.h"

namespace gearshift {
namespace {

TEST(Reference, IsReadWithoutLibtorch) {
  const Predictor reference = shipped_reference();
  EXPECT_EQ(reference.device, "jetson-agx-orin-jetpack5");
  EXPECT_EQ(reference.workload, "resnet18");
  EXPECT_EQ(reference.kind, Kind::train);
  EXPECT_EQ(reference.reference, "");
  EXPECT_EQ(reference.settings, 4368U);
  ASSERT_EQ(reference.inputs.size(), 4U);
  EXPECT_EQ(reference.time.weights.size(), network_weight_count(4));
  EXPECT_EQ(reference.power.weights.size(), network_weight_count(4));
}

TEST(Reference, IsWhatAWriterWouldWrite) {
  EXPECT_EQ(format_predictor(shipped_reference()), shipped_reference_bytes());
}

}  // namespace
}  // namespace gearshift
