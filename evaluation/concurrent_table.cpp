#include "evaluation/concurrent_table.h"

#include <algorithm>
#include <tuple>

#include "controller/whole_minibatches.h"

namespace gearshift {

double ConcurrentCell::power_w() const { return std::max(train->power_w, infer->power_w); }

ConcurrentTable::ConcurrentTable(const Profile& train, const Profile& infer,
                                 std::int32_t train_batch, const std::vector<bool>& suspect_train,
                                 const std::vector<bool>& suspect_infer) {
  for (std::size_t i = 0; i < infer.cells().size(); ++i) {
    const ProfileCell& served = infer.cells()[i];
    const ProfileCell* trained = train.find(served.mode, train_batch);
    if (trained == nullptr || !trained->timed() || !served.timed()) continue;
    const auto place = static_cast<std::size_t>(trained - train.cells().data());
    const bool suspect = (!suspect_infer.empty() && suspect_infer[i]) ||
                         (!suspect_train.empty() && suspect_train[place]);
    cells_.push_back({trained, &served, !suspect});
  }
}

const ConcurrentCell* ConcurrentTable::find(const PowerMode& mode, std::int32_t infer_batch) const {
  const auto found = std::find_if(cells_.begin(), cells_.end(), [&](const ConcurrentCell& cell) {
    return cell.infer->batch_size == infer_batch && cell.infer->mode == mode;
  });
  return found == cells_.end() ? nullptr : &*found;
}

const ConcurrentCell* ConcurrentTable::best(const Problem& problem, Throughput of,
                                            bool suspects_too) const {
  const ConcurrentCell* best = nullptr;
  const auto rank = [&](const ConcurrentCell& cell) {
    return std::tuple(-throughput(problem, cell, of), cell.power_w(), cell.infer->batch_size);
  };
  for (const ConcurrentCell& cell : cells_) {
    if (!(suspects_too || cell.trusted) || !keeps(problem, cell)) continue;
    if (best == nullptr || rank(cell) < rank(*best)) best = &cell;
  }
  return best;
}

bool keeps(const Problem& problem, const ConcurrentCell& cell) {
  return keeps_power(problem, *cell.train) && keeps_power(problem, *cell.infer) &&
         keeps_energy(problem, *cell.train) && keeps_pace(problem, *cell.infer);
}

double throughput(const Problem& problem, const ConcurrentCell& cell, Throughput of) {
  const double fill_ms = arrival_ms(problem, cell.infer->batch_size);
  const auto minibatches = static_cast<double>(
      whole_minibatches(fill_ms, cell.infer->minibatch_ms, cell.train->minibatch_ms));
  return of == Throughput::window ? minibatches : 1e3 * minibatches / fill_ms;
}

}  // namespace gearshift
