#include "cli/simulated_progress.h"

#include <spdlog/fmt/fmt.h>

#include <chrono>

namespace gearshift {

std::string simulated_progress_text(Duration done, Duration most, bool mission, double elapsed_s) {
  const double done_s = seconds(done);
  const double most_s = seconds(most);
  if (!mission) {
    return fmt::format("{} of at most {} of virtual time", clock_text(done_s), clock_text(most_s));
  }
  const std::string left = done_s > 0 ? clock_text(elapsed_s / done_s * (most_s - done_s)) : "?";
  return fmt::format("{}/{} of virtual time, ETA {}", clock_text(done_s), clock_text(most_s), left);
}

void SimulatedProgress::observe(Time now) {
  constexpr Duration kFirst = std::chrono::seconds(3);
  constexpr Duration kEvery = std::chrono::milliseconds(200);
  if (!line_.due(kFirst, kEvery)) return;
  const Duration done = now - Time{};
  std::optional<double> share;
  if (mission_) share = seconds(done) / seconds(most_);
  line_.show(share, simulated_progress_text(done, most_, mission_, line_.elapsed_s()));
}

}  // namespace gearshift
