#include "simulator/emulated_workload.h"

#include <algorithm>
#include <cmath>

#include "simulator/load.h"
#include "simulator/noise.h"

namespace gearshift {
namespace {

double milliseconds_of(Duration duration) {
  return static_cast<double>(duration.count()) / kNsInMs;
}
Duration duration_of(double ms) { return Duration(std::llround(ms * kNsInMs)); }

}  // namespace

EmulatedWorkload::EmulatedWorkload(const DeviceParameters& device,
                                   const WorkloadParameters& workload, std::int32_t batch_size,
                                   const EmulationOptions& options)
    : device_(device), workload_(workload), options_(options), batch_size_(batch_size) {}

double EmulatedWorkload::factor() const {
  return Jitter(options_.jitter).factor(normal_noise(options_.seed, Stream::jitter, index_));
}

double EmulatedWorkload::duration_ms(const ModelMode& clocks, double others_ms) const {
  const MinibatchCost cost = minibatch_cost(device_, workload_.demand(batch_size_), clocks);
  const double slower = options_.highest_cpu_ghz / clocks.cpu_ghz;
  const double extra_ms = index_ == 0 ? milliseconds_of(options_.warm_up) * slower : 0;
  return factor() * cost.minibatch_ms + extra_ms + others_ms;
}

Duration EmulatedWorkload::remaining(const ModelMode& clocks, double others_ms) const {
  return duration_of(std::ceil((1 - progress_) * duration_ms(clocks, others_ms) * kNsInMs) /
                     kNsInMs);
}

Duration EmulatedWorkload::work(Duration time, const ModelMode& clocks, double others_ms) {
  const double total_ms = duration_ms(clocks, others_ms);
  const double left_ms = (1 - progress_) * total_ms;
  const bool ends = milliseconds_of(time) >= left_ms;
  const double worked_ms = ends ? left_ms : milliseconds_of(time);
  const double share = worked_ms / total_ms;
  const MinibatchCost cost = minibatch_cost(device_, workload_.demand(batch_size_), clocks);
  progress_ += share;
  elapsed_ms_ += worked_ms;
  fetch_stall_ms_ += share * factor() * cost.fetch_stall_ms;
  compute_ms_ += share * factor() * cost.gpu_ms;
  if (!ends) return time;
  const std::int64_t whole = options_.samples_per_epoch;
  finished_ = EmulatedMinibatch{duration_of(elapsed_ms_), duration_of(fetch_stall_ms_),
                                duration_of(compute_ms_), batch_size_,
                                whole > 0 ? static_cast<std::uint32_t>(samples_ / whole) : 0};
  ++index_;
  samples_ += batch_size_;
  progress_ = elapsed_ms_ = fetch_stall_ms_ = compute_ms_ = 0;
  if (requested_ && prefetched_left_-- == 0) drain();
  return std::min(time, duration_of(worked_ms));
}

std::optional<EmulatedMinibatch> EmulatedWorkload::take_finished() {
  std::optional<EmulatedMinibatch> finished = finished_;
  finished_.reset();
  return finished;
}

void EmulatedWorkload::request_batch_size(std::int32_t batch_size) {
  if (!requested_) prefetched_left_ = kPrefetchedBatches;
  requested_ = batch_size;
  if (batch_size == batch_size_) requested_.reset();
}

void EmulatedWorkload::drain() {
  if (!requested_) return;
  batch_size_ = *requested_;
  requested_.reset();
}

double other_loads_ms(std::string_view loads, std::int32_t own_pid, const BoardDescription& board,
                      const ModelMode& clocks) {
  double sum_ms = 0;
  while (!loads.empty()) {
    const std::size_t end = std::min(loads.find('\n'), loads.size());
    const std::optional<Load> load = parse_load(loads.substr(0, end), board);
    loads.remove_prefix(std::min(end + 1, loads.size()));
    if (!load || !load->run || load->pid == own_pid) continue;
    sum_ms += minibatch_cost(board.parameters(load->kind), load->demand(), clocks).minibatch_ms;
  }
  return sum_ms;
}

}  // namespace gearshift
