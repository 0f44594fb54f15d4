#include "cli/recording_end.h"

#include <spdlog/fmt/chrono.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <ctime>

namespace gearshift {
namespace {

// As a recording's name in a folder has it, whatever the zone of who asks. A daemon may say any
// number: what is past the year 9999 is shown as that.
std::string time_text(std::int64_t unix_ms) {
  constexpr std::int64_t kLatest_s = 253'402'300'799;
  const std::int64_t unix_s = std::clamp<std::int64_t>(unix_ms / 1000, 0, kLatest_s);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(unix_s)));
}

}  // namespace

bool is_complete(const std::optional<std::string>& end) { return end == "complete"; }

std::string recording_end_text(const std::optional<std::string>& end) {
  if (!end) return "it has no end: the run was killed, or goes on";
  return is_complete(end) ? "it is complete" : "it ended before the run: " + *end;
}

std::string recording_state_text(const RecordingState& state) {
  const std::string size =
      fmt::format("{}, {:.1f} MB", state.file, static_cast<double>(state.bytes) / 1e6);
  if (state.end.empty()) return size;
  return fmt::format("{}; ended at {}: {}", size, time_text(state.ended_unix_ms), state.end);
}

nlohmann::ordered_json recording_state_json(const RecordingState& state) {
  nlohmann::ordered_json out = {{"file", state.file}, {"bytes", state.bytes}};
  if (state.end.empty()) return out;
  out["end"] = state.end;
  out["ended_at"] = time_text(state.ended_unix_ms);
  return out;
}

}  // namespace gearshift
