#include "cli/evaluate_progress.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

#include "cli/tell.h"

namespace gearshift {
namespace {

constexpr Duration kLineEvery = std::chrono::seconds(10);
constexpr std::size_t kBar = 30;

std::string clock_text(double left_s) {
  const auto whole = std::llround(left_s);
  if (whole >= 3600) {
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

EvaluateProgress::EvaluateProgress(bool keeps, std::string_view what)
    : began_(clock_.now()), terminal_(isatty(STDERR_FILENO) == 1), keeps_(keeps), what_(what) {
  if (!keeps_) return;
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

void EvaluateProgress::progress(std::size_t done, std::size_t known, std::size_t total) {
  const Time now = clock_.now();
  if (!terminal_ && (done == total || (shown_ && now - *shown_ < kLineEvery))) return;
  shown_ = now;
  std::string left = "?";
  if (done > known) {
    left = clock_text(seconds(now - began_) / static_cast<double>(done - known) *
                      static_cast<double>(total - done));
  }
  const std::string from = known > 0 ? fmt::format(", {} known before", known) : std::string();
  if (!terminal_) {
    tell(stderr, "{}/{} {}, ETA {}{}\n", done, total, what_, left, from);
    return;
  }
  const std::size_t filled = total == 0 ? kBar : kBar * done / total;
  tell(stderr, "\r\033[K[{:=<{}}{:<{}}] {}/{} {}, ETA {}{}", "", filled, "", kBar - filled, done,
       total, what_, left, from);
}

bool EvaluateProgress::stopped() {
  const timespec now{0, 0};
  if (!keeps_ || stopped_ || sigtimedwait(&signals_, nullptr, &now) <= 0) return stopped_;
  stopped_ = true;
  tell(stderr, "{}stopping when the cases under way have ended; a second signal ends it now\n",
       terminal_ ? "\r\033[K" : "");
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  return true;
}

void EvaluateProgress::end() {
  if (terminal_) std::fputs("\r\033[K", stderr);
  if (keeps_) pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
}

}  // namespace gearshift
