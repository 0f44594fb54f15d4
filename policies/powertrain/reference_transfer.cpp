#include "policies/powertrain/reference_transfer.h"

#include <exception>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policies/powertrain/known_batch_sizes.h"
#include "policies/powertrain/network_module.h"
#include "policies/powertrain/training.h"

namespace gearshift {

namespace {

// Six measured modes do not teach networks what several batch sizes cost that they never saw. Of a
// single one they need to know nothing: it is another workload's to them.
std::string objection_of(const Predictor& reference, const KnobSpace& knobs,
                         std::span<const std::int32_t> batch_sizes) {
  const std::string objection = reference_objection(reference, knobs, batch_sizes.size());
  if (!objection.empty() || batch_sizes.size() <= 1) return objection;
  for (const std::int32_t size : batch_sizes) {
    if (knows_batch_size(reference, size)) continue;
    return "PowerTrain's reference " + reference.workload + " knows batch sizes of " +
           known_batch_sizes(reference) + ", and " + std::to_string(size) +
           " is allowed here; train one on a profile that has it (gearshift powertrain train), or "
           "allow what it knows";
  }
  return "";
}

}  // namespace

ReferenceTransfer::ReferenceTransfer(std::function<Predictor()> load) : load_(std::move(load)) {}

std::string ReferenceTransfer::objection(const KnobSpace& knobs,
                                         std::span<const std::int32_t> batch_sizes) const {
  const std::lock_guard lock(one_at_a_time_);
  try {
    if (!reference_) reference_ = load_();
  } catch (const std::exception& error) {
    return error.what();
  }
  return objection_of(*reference_, knobs, batch_sizes);
}

TransferResult ReferenceTransfer::transfer(const Profile& measured,
                                           std::span<const TransferSetting> settings) const {
  const std::lock_guard lock(one_at_a_time_);
  const NetworkModule module;
  if (!reference_) reference_ = load_();
  std::set<std::int32_t> batch_sizes;
  for (const TransferSetting& one : settings) batch_sizes.insert(one.batch_size);
  const std::vector<std::int32_t> sizes(batch_sizes.begin(), batch_sizes.end());
  const std::string objection = objection_of(*reference_, measured.knobs(), sizes);
  if (!objection.empty()) throw TrainingError(objection);
  const std::vector<std::size_t> cells = timed_cells(measured);
  const Predictor predictor = transfer_predictor(module, *reference_, measured, cells, {});
  std::vector<PredictedSetting> wanted;
  wanted.reserve(settings.size());
  for (const TransferSetting& one : settings) wanted.push_back({one.mode, one.batch_size});
  TransferResult result;
  for (const Prediction& one : predict(module, predictor, measured.knobs(), wanted)) {
    result.minibatch_ms.push_back(one.minibatch_ms);
    result.power_w.push_back(one.power_w);
  }
  const PredictionError error = prediction_error(module, predictor, measured, cells);
  result.time_error = error.time_percent / 100;
  result.power_error = error.power_percent / 100;
  return result;
}

void ReferenceTransfer::warm_up() const noexcept {
  try {
    const std::lock_guard lock(one_at_a_time_);
    const NetworkModule module;
    if (!reference_) reference_ = load_();
    Profile made_up(reference_->knobs);
    made_up.device = reference_->device;
    made_up.workload = "warm-up";
    for (std::size_t i = 0; i < reference_->knobs.size(); ++i) {
      ProfileCell cell;
      cell.mode = reference_->knobs.lowest();
      cell.mode.values[i] = reference_->knobs.knobs[i].values.back();
      cell.minibatch_ms = cell.power_w = static_cast<double>(1 + i);
      cell.batch_size = reference_->batch_sizes.front();
      made_up.add(cell);
    }
    TrainingOptions options;
    options.epochs = 1;
    transfer_predictor(module, *reference_, made_up, timed_cells(made_up), options);
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace gearshift
