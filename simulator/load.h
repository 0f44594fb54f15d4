// The workloads that run on a virtual board, as they declare themselves in /.virtual/load.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "boards/board_description.h"
#include "controller/event.h"
#include "controller/setting.h"

namespace gearshift {

// One line: "pid=1234 name=resnet18 kind=train batch_size=16 batch_sizes=8,16,32 run=1".
struct Load {
  std::int32_t pid = 0;
  std::string name;
  Kind kind = Kind::train;
  std::int32_t batch_size = 16;
  std::vector<std::int32_t> batch_sizes;  // lowest first; holds batch_size
  bool run = true;                        // false: waits between two minibatches
  const WorkloadParameters* workload = nullptr;

  Demand demand() const { return workload->demand(batch_size); }
};

inline constexpr std::int32_t kMaxBatchSize = 1 << 20;

// Fields may stand in any order and later versions may add some; name is required, the others have
// defaults. Nothing where a value cannot be used or the board has no such workload.
std::optional<Load> parse_load(std::string_view text, const BoardDescription& board);
std::string format_load(const Load& load);

using LoadHandle = std::uint64_t;

// The loads by the handle that declared each: a handle's line lives until the handle is closed.
class Loads {
 public:
  explicit Loads(const BoardDescription& board) : board_(board) {}

  LoadHandle open() { return next_++; }
  // Replaces the handle's line. EINVAL for one that cannot be used, ENOSPC beyond kMaxLoads.
  int write(LoadHandle handle, std::string_view text);
  void close(LoadHandle handle) { loads_.erase(handle); }

  const std::map<LoadHandle, Load>& all() const { return loads_; }
  std::string text() const;  // one line a load

 private:
  static constexpr std::size_t kMaxLoads = 16;

  const BoardDescription& board_;
  std::map<LoadHandle, Load> loads_;
  LoadHandle next_ = 1;
};

}  // namespace gearshift
