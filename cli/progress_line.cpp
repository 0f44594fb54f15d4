#include "cli/progress_line.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "cli/tell.h"

namespace gearshift {
namespace {

constexpr Duration kLineEvery = std::chrono::seconds(10);
constexpr double kBar = 30;

}  // namespace

std::string clock_text(double whole_s) {
  const auto whole = std::llround(whole_s);
  if (whole >= 3600) {
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

ProgressLine::ProgressLine() : began_(clock_.now()), terminal_(isatty(STDERR_FILENO) == 1) {}

bool ProgressLine::due(Duration first, Duration every) {
  const Time now = clock_.now();
  const Time next = shown_ ? *shown_ + (terminal_ ? every : kLineEvery) : began_ + first;
  if (now < next) return false;
  shown_ = now;
  return true;
}

void ProgressLine::show(std::optional<double> share, const std::string& text) const {
  if (!terminal_) {
    tell(stderr, "{}\n", text);
    return;
  }
  if (!share) {
    tell(stderr, "\r\033[K{}", text);
    return;
  }
  const auto filled = static_cast<int>(kBar * std::clamp(*share, 0.0, 1.0));
  tell(stderr, "\r\033[K[{:=<{}}{:<{}}] {}", "", filled, "", static_cast<int>(kBar) - filled, text);
}

void ProgressLine::clear() const {
  if (terminal_ && shown_) tell(stderr, "\r\033[K");
}

}  // namespace gearshift
