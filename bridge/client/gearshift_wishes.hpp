// What the daemon asks of the C++ client's program, and how far the program has followed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bridge/client/gearshift_wire.hpp"

namespace gearshift::client::detail {

// Leaves out of `sizes`, ascending, those from this one on, which does not fit in memory. False
// where none is smaller.
inline bool leave_out_from(std::int32_t batch_size, std::vector<std::int32_t>& sizes) {
  const auto first = std::lower_bound(sizes.begin(), sizes.end(), batch_size);
  if (first == sizes.begin()) return false;
  sizes.erase(first, sizes.end());
  return true;
}

struct Wishes {
  Wanted in_force;  // what minibatches run with
  Wanted before;    // what they ran with before its set
  Wanted wanted;    // what the training loop was told
  Wanted newest;    // what the daemon asked for last; news until the loop is told
  bool news = false;
  std::uint32_t checkpoint = 0;  // that was asked for and is not answered yet

  explicit Wishes(std::int32_t batch_size)
      : in_force{0, batch_size, Run::both}, before(in_force), wanted(in_force), newest(in_force) {}

  // What the daemon wants, as far as the program did not refuse it.
  const Wanted& asked() const { return news ? newest : wanted; }

  // True once for each new wish.
  bool poll() {
    if (!std::exchange(news, false)) return false;
    wanted = newest;
    return true;
  }

  // What the program was told is in force.
  void apply() {
    if (in_force.set != wanted.set) before = in_force;  // else pause() was told first
    in_force = wanted;
  }
  // Why fall_back() is not to be called with it, for people: it is not smaller than what is in
  // force, or none of those `offered`, ascending. Empty: it is both.
  std::string fault_of_smaller(std::int32_t batch_size,
                               const std::vector<std::int32_t>& offered) const {
    const bool is_offered = std::binary_search(offered.begin(), offered.end(), batch_size);
    if (is_offered && batch_size < in_force.batch_size) return {};
    return "out_of_memory(" + std::to_string(batch_size) +
           "): give a smaller one of the batch sizes offered, " + list_of(offered);
  }
  // It cannot stay in force: what was before does, with this batch size. Returns what failed.
  Wanted fall_back(std::int32_t batch_size) {
    const Wanted failed = in_force;
    before.batch_size = batch_size;
    before.run = in_force.run;
    wanted = in_force = before;
    return failed;
  }

  // False where this batch size was not offered.
  bool take(const Incoming& incoming, const std::vector<std::int32_t>& offered) {
    if (std::find(offered.begin(), offered.end(), incoming.batch_size) == offered.end()) {
      return false;
    }
    newest = {static_cast<std::uint32_t>(incoming.set),
              static_cast<std::int32_t>(incoming.batch_size), run_named(incoming.run)};
    news = true;
    return true;
  }

  void take_checkpoint(const Incoming& incoming) {
    if (is_number(incoming.checkpoint))
      checkpoint = static_cast<std::uint32_t>(incoming.checkpoint);
  }

  // That this kind waits is in force before the program was told; its batch size is not. False
  // where it was already.
  bool pause() {
    if (in_force.set == asked().set) return false;
    before = in_force;
    in_force = {asked().set, in_force.batch_size, asked().run};
    return true;
  }

  // The batch size stays; numbers of the attachment that ended are void, and nobody has to wait.
  void reset() {
    checkpoint = 0;
    in_force.set = before.set = wanted.set = 0;
    newest = {0, wanted.batch_size, Run::both};
    news = wanted.run != Run::both;
  }
};

}  // namespace gearshift::client::detail
