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
  const std::vector<std::int32_t> one{64}, several{8, 16, 32};
  EXPECT_EQ(transfer.objection(knobs, one), "");
  EXPECT_EQ(transfer.objection(knobs, several),
            "PowerTrain's reference resnet18 knows one batch size, and 3 are allowed here; train "
            "one on several (gearshift powertrain train), or allow one");
  knobs.knobs.erase(knobs.knobs.begin() + 1);
  const std::string unknown = transfer.objection(knobs, one);
  EXPECT_EQ(unknown.find("PowerTrain's reference resnet18 needs cpu_mhz, which is no knob here; "),
            0U)
      << unknown;
  const ReferenceTransfer broken([]() -> Predictor { throw PredictorFileError("cut short"); });
  EXPECT_EQ(broken.objection(knobs, one), "cut short");
}

TEST(Reference, SaysWhichBatchSizesItDoesNotKnow) {
  const ReferenceTransfer transfer([] {
    Predictor reference = shipped_reference();
    reference.batch_sizes = {8, 32};
    reference.reference_batch_sizes = {64, 128};
    reference.reference = "orin another";
    reference.inputs.push_back({std::string(kBatchSizeInput), 20, 12});
    return reference;
  });
  const KnobSpace knobs = shipped_reference().knobs;
  const auto objection = [&](const std::vector<std::int32_t>& sizes) {
    return transfer.objection(knobs, sizes);
  };
  EXPECT_EQ(objection({8, 16, 32, 64}), "");
  EXPECT_EQ(objection({256}), "") << "all that is measured is of that size";
  EXPECT_EQ(objection({16, 32, 48}),
            "PowerTrain's reference resnet18 knows batch sizes of 8 to 32, and 64 to 128 from its "
            "reference, and 48 is allowed here; train one on a profile that has it (gearshift "
            "powertrain train), or allow what it knows");
  EXPECT_NE(objection({4, 16}), "");
}

}  // namespace
}  // namespace gearshift
