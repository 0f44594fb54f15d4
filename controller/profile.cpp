#include "controller/profile.h"

#include <algorithm>

namespace gearshift {

std::size_t Profile::KeyHash::operator()(const Key& key) const {
  return hash(Setting{.mode = key.mode, .batch_size = {key.batch_size, 0}});
}

bool Profile::add(const ProfileCell& cell) {
  if (!knobs_.contains(cell.mode)) return false;
  if (!index_.try_emplace({cell.mode, cell.batch_size}, cells_.size()).second) return false;
  cells_.push_back(cell);
  const auto place = std::lower_bound(batch_sizes_.begin(), batch_sizes_.end(), cell.batch_size);
  if (place == batch_sizes_.end() || *place != cell.batch_size) {
    batch_sizes_.insert(place, cell.batch_size);
  }
  return true;
}

const ProfileCell* Profile::find(const PowerMode& mode, std::int32_t batch_size) const {
  const auto found = index_.find({mode, batch_size});
  return found == index_.end() ? nullptr : &cells_[found->second];
}

}  // namespace gearshift
