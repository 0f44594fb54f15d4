// What gearshift asks of libtorch: to train a small network and to ask it for predictions. A C
// interface, so that the program neither links libtorch nor compiles its headers.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Raised whenever anything below changes: a module of another version is refused.
enum { GEARSHIFT_NETWORK_VERSION = 1 };

// PowerTrain's network, section 3.1 of doi:10.1016/j.future.2024.07.001: dense layers of 256, 128,
// 64 neurons with ReLU and one linear output; dropout after the first two.
enum { GEARSHIFT_NETWORK_LAYERS = 4 };
static const size_t gearshift_network_width[GEARSHIFT_NETWORK_LAYERS] = {256, 128, 64, 1};

enum GearshiftLoss {
  GEARSHIFT_LOSS_MSE = 0,  // the mean squared error of the standardised targets
  GEARSHIFT_LOSS_MAPE = 1  // the mean absolute error as a part of the target
};

struct GearshiftTraining {
  const float* inputs;     // rows x columns, row after row, standardised
  const float* targets;    // rows, above 0, in their own unit
  size_t rows;             // at least 2
  size_t columns;          // at least 1
  size_t validation_rows;  // the last rows are for validation: at least 1, fewer than rows
  double target_mean;      // the network's output is (target - mean) / deviation
  double target_deviation;
  int loss;  // a GearshiftLoss
  size_t epochs;
  size_t head_epochs;  // where `transfer`: so many before them tune the new last layer alone
  size_t batch_rows;
  double learning_rate;  // Adam's
  double dropout;        // the part of the neurons that is left out in training, 0..1
  uint64_t seed;
  int transfer;  // not 0: `weights` hold a trained network, of which all but the last layer is kept
  // After every epoch, of which there are head_epochs + epochs; may be null. Not 0 ends the
  // training there.
  int (*progress)(void* context, size_t epoch, double training_loss, double validation_loss);
  void* context;
};

struct GearshiftTrained {
  size_t epoch;  // whose weights these are: the one of the least validation loss, 1 is the first
  double training_loss;
  double validation_loss;
};

// All return 0, or 1 with a text in `error`, which then ends in a null byte. `weights` are, layer
// after layer, outputs x inputs weights, row after row, and one bias an output. They are a function
// of the arguments alone. Used from one thread at a time; the floating-point mode is left as found.
uint32_t gearshift_network_version(void);
int gearshift_network_train(const struct GearshiftTraining* training, float* weights,
                            size_t weight_count, struct GearshiftTrained* trained, char* error,
                            size_t error_bytes);
// `outputs` has `rows` standardised predictions.
int gearshift_network_predict(const float* weights, size_t weight_count, const float* inputs,
                              size_t rows, size_t columns, float* outputs, char* error,
                              size_t error_bytes);

#ifdef __cplusplus
}
#endif
