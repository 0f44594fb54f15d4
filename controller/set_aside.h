// What is known of settings that are not offered for a while: it waits for their return.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace gearshift {

// Moves what is not `offered` from `known` to `aside`, and what is offered again back, before the
// others. Both keep their order, and the newest `most`; the storage of `known` does not move where
// it has room for those. Asks of each once. True where anything moved.
template <typename Item, typename Offered>
bool set_aside(std::vector<Item>& known, std::vector<Item>& aside, std::size_t most,
               const Offered& offered) {
  const auto back = std::stable_partition(aside.begin(), aside.end(), std::not_fn(offered));
  const auto gone = std::stable_partition(known.begin(), known.end(), offered);
  if (back == aside.end() && gone == known.end()) return false;
  const std::vector<Item> returned(back, aside.end());
  aside.erase(back, aside.end());
  aside.insert(aside.end(), gone, known.end());
  known.erase(gone, known.end());
  const auto newest = [](const std::vector<Item>& all, std::size_t count) {
    return all.end() - static_cast<std::ptrdiff_t>(std::min(count, all.size()));
  };
  aside.erase(aside.begin(), newest(aside, most));
  known.insert(known.begin(), newest(returned, most - known.size()), returned.end());
  return true;
}

}  // namespace gearshift
