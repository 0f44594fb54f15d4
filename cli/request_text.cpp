#include "cli/request_text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "cli/units.h"

namespace gearshift {
namespace {

nlohmann::json latency_json(Duration latency) {
  return latency == Duration::max() ? nlohmann::json() : nlohmann::json(1e3 * seconds(latency));
}

std::string latency_text(Duration latency) {
  return latency == Duration::max() ? "never" : milliseconds_text(latency);
}

}  // namespace

nlohmann::json to_json(const RequestFigures& requests) {
  return {{"arrived", requests.arrived},
          {"served", requests.served},
          {"late", requests.late},
          {"refused", requests.refused},
          {"dropped", requests.dropped},
          {"latency_p50_ms", latency_json(requests.latency_p50)},
          {"latency_p95_ms", latency_json(requests.latency_p95)},
          {"latency_p99_ms", latency_json(requests.latency_p99)},
          {"latency_max_ms", latency_json(requests.latency_max)}};
}

std::string requests_text(const RequestFigures& requests) {
  return fmt::format(
      "{} came; p50 {}, p95 {}, p99 {}, max {}; {} late ({:.3f} %), of them {} refused and {} "
      "dropped",
      requests.arrived, latency_text(requests.latency_p50), latency_text(requests.latency_p95),
      latency_text(requests.latency_p99), latency_text(requests.latency_max), requests.late,
      100.0 * requests.late / std::max(1u, requests.ended()), requests.refused, requests.dropped);
}

}  // namespace gearshift
