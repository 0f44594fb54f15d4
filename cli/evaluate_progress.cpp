#include "cli/evaluate_progress.h"

#include <spdlog/fmt/fmt.h>

#include <string>

#include "cli/tell.h"

namespace gearshift {

EvaluateProgress::EvaluateProgress(bool keeps, std::string_view what) : keeps_(keeps), what_(what) {
  if (!keeps_) return;
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

void EvaluateProgress::progress(std::size_t done, std::size_t known, std::size_t total) {
  if (!line_.terminal() && done == total) return;
  if (!line_.due(Duration::zero(), Duration::zero())) return;
  std::string left = "?";
  if (done > known) {
    left = clock_text(line_.elapsed_s() / static_cast<double>(done - known) *
                      static_cast<double>(total - done));
  }
  const std::string from = known > 0 ? fmt::format(", {} known before", known) : std::string();
  const double share = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  line_.show(share, fmt::format("{}/{} {}, ETA {}{}", done, total, what_, left, from));
}

bool EvaluateProgress::stopped() {
  const timespec now{0, 0};
  if (!keeps_ || stopped_ || sigtimedwait(&signals_, nullptr, &now) <= 0) return stopped_;
  stopped_ = true;
  tell(stderr, "{}stopping when the cases under way have ended; a second signal ends it now\n",
       line_.terminal() ? "\r\033[K" : "");
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  return true;
}

void EvaluateProgress::end() {
  line_.clear();
  if (keeps_) pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
}

}  // namespace gearshift
