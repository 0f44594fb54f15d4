#include "cli/select_workload.h"

#include <spdlog/fmt/fmt.h>

#include <stdexcept>

namespace gearshift {

const std::map<std::string, WorkloadParameters>::value_type& require_workload(
    const BoardDescription& board, const std::string& name, Kind kind, const std::string& flag) {
  const auto found = board.find_workload(name, kind);
  if (found != board.workloads.end()) return *found;
  std::string known;
  for (const auto& [one, workload] : board.workloads) {
    if (workload.kind == kind) known += (known.empty() ? "" : ", ") + one;
  }
  throw std::invalid_argument(fmt::format("{}: the model of {} has no {} workload '{}'; it has {}",
                                          flag, board.id, kind_name(kind), name,
                                          known.empty() ? "none" : known));
}

}  // namespace gearshift
