#include "policies/powertrain/reference.h"

#include <gtest/gtest.h>

#include "policies/powertrain/network_module.h"
#include "policies/powertrain/predictor_file.h"
#include "policies/powertrain/reference_transfer.h"

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

// Without libtorch, and before anything is measured.
TEST(Reference, SaysWhatItCannotBeTakenOverTo) {
  const ReferenceTransfer transfer(shipped_reference);
  KnobSpace knobs = shipped_reference().knobs;
  EXPECT_EQ(transfer.objection(knobs, 1), "");
  EXPECT_EQ(transfer.objection(knobs, 3),
            "PowerTrain's reference resnet18 knows one batch size, and 3 are allowed here; train "
            "one on several (gearshift powertrain train), or allow one");
  knobs.knobs.erase(knobs.knobs.begin() + 1);
  const std::string unknown = transfer.objection(knobs, 1);
  EXPECT_EQ(unknown.find("PowerTrain's reference resnet18 needs cpu_mhz, which is no knob here; "),
            0U)
      << unknown;
  const ReferenceTransfer broken([]() -> Predictor { throw PredictorFileError("cut short"); });
  EXPECT_EQ(broken.objection(knobs, 1), "cut short");
}

}  // namespace
}  // namespace gearshift
