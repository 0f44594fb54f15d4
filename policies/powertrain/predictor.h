// What predicts the time and the power of every mode for one workload: two trained networks, and
// all that is needed to feed them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "controller/knob.h"
#include "controller/setting.h"

namespace gearshift {

// The loss that a network was trained with: of standardised targets squared, or relative
// (PowerTrain's section 4.3.4, for a board far from the reference's).
enum class Loss : std::uint8_t { mse, mape };
constexpr std::string_view loss_name(Loss loss) { return loss == Loss::mse ? "mse" : "mape"; }

// One input of the networks: a knob in the unit people read, or batch_size.
struct PredictorInput {
  std::string name;
  double mean = 0;
  double deviation = 1;  // above 0
};
inline constexpr std::string_view kBatchSizeInput = "batch_size";

// One network, and the scale of what it predicts.
struct PredictorNetwork {
  double mean = 0;
  double deviation = 1;   // above 0
  std::size_t epoch = 0;  // of the least validation loss, whose weights these are
  double training_loss = 0;
  double validation_loss = 0;
  double mape_percent = 0;     // over all settings it was trained and validated with
  std::vector<float> weights;  // as in network.h
};

struct Predictor {
  std::string device;
  std::string workload;
  Kind kind = Kind::train;
  std::string reference;  // "DEVICE WORKLOAD" that it was transferred from; empty: trained afresh
  Loss loss = Loss::mse;
  std::uint64_t seed = 0;
  std::size_t settings = 0;               // measured ones, trained and validated with
  KnobSpace knobs;                        // of the profile it learnt from
  std::vector<std::int32_t> batch_sizes;  // of that profile, lowest first
  // What its reference, and the reference of that one, learnt from, lowest first; empty where it
  // was trained afresh, or by a gearshift that did not write them.
  std::vector<std::int32_t> reference_batch_sizes;
  std::vector<PredictorInput> inputs;
  PredictorNetwork time;   // ms a minibatch
  PredictorNetwork power;  // W

  // False: all batch sizes are one to the networks.
  bool takes_batch_size() const {
    return std::any_of(inputs.begin(), inputs.end(),
                       [](const PredictorInput& one) { return one.name == kBatchSizeInput; });
  }
};

}  // namespace gearshift
