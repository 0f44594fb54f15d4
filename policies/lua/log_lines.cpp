#include "policies/lua/log_lines.h"

#include "controller/printable_text.h"

namespace gearshift {

void LogLines::add(std::string_view line) noexcept {
  if (count_ == kLogLines) {
    ++dropped_;
    return;
  }
  // An empty line would read as "no line" to take().
  BoundedText<kLogLineBytes>& kept = lines_[(first_ + count_++) % kLogLines];
  kept = BoundedText<kLogLineBytes>(line.empty() ? " " : line);
  hide_unprintable({kept.bytes.data(), kept.length});
}

std::string LogLines::take() {
  if (count_ > 0) {
    std::string line(lines_[first_].view());
    first_ = (first_ + 1) % kLogLines;
    --count_;
    return line;
  }
  if (dropped_ == 0) return {};
  std::string line = "(" + std::to_string(dropped_) + " more lines were dropped)";
  dropped_ = 0;
  return line;
}

}  // namespace gearshift
