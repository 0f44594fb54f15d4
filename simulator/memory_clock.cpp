#include "simulator/memory_clock.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

#include "boards/clock_units.h"
#include "simulator/clock_limits.h"

namespace gearshift {
namespace {

constexpr std::string_view kDebug = "/sys/kernel/debug";

}  // namespace

MemoryClock::MemoryClock(std::vector<std::int64_t> table_khz, std::string cap_path)
    : table_khz_(std::move(table_khz)), cap_path_(std::move(cap_path)) {
  locked_khz_ = floating_khz_ = table_khz_.front();
}

void MemoryClock::update(bool busy) {
  floating_khz_ = busy ? table_khz_.back() : table_khz_.front();
}

std::int64_t MemoryClock::cap_khz() const {
  return wanted_cap_khz_ == 0 ? table_khz_.back() : at_most(table_khz_, wanted_cap_khz_);
}

double MemoryClock::clock_khz() const {
  return static_cast<double>(std::min(locked_ ? locked_khz_ : floating_khz_, cap_khz()));
}

int MemoryClock::write_lock(std::string_view text) {
  if (text != "0" && text != "1") return EINVAL;
  if (text == "1" && !locked_) locked_khz_ = static_cast<std::int64_t>(clock_khz());
  locked_ = text == "1";
  return 0;
}

// A rate is taken while the lock is closed, and only one of the table: any other write succeeds and
// does nothing.
int MemoryClock::write_rate(std::string_view text) {
  const std::optional<std::int64_t> wanted_hz = whole_integer(text);
  if (!wanted_hz || *wanted_hz < 0) return EINVAL;
  const bool known =
      *wanted_hz % kHzInKhz == 0 &&
      std::binary_search(table_khz_.begin(), table_khz_.end(), *wanted_hz / kHzInKhz);
  if (locked_ && known) locked_khz_ = *wanted_hz / kHzInKhz;
  return 0;
}

int MemoryClock::write_cap(std::string_view text) {
  const std::optional<std::int64_t> wanted_hz = whole_integer(text);
  if (!wanted_hz || *wanted_hz < -1) return EINVAL;
  wanted_cap_khz_ = std::max<std::int64_t>(0, *wanted_hz) / kHzInKhz;
  return 0;
}

void MemoryClock::add_files(BoardTree& tree) {
  const std::string debug(kDebug);
  const std::string clock = debug + "/bpmp/debug/clk/emc/";
  const auto hertz = [](double khz) { return line(std::llround(khz) * kHzInKhz); };
  tree.add_folder(debug, 0700);
  std::vector<BoardNode*> nodes;
  nodes.push_back(&tree.add_file(
      clock + "rate", 0644, [this, hertz] { return hertz(clock_khz()); },
      [this](std::string_view text) { return write_rate(text); }));
  nodes.push_back(&tree.add_file(
      clock + "mrq_rate_locked", 0644, [this] { return line(locked_ ? 1 : 0); },
      [this](std::string_view text) { return write_lock(text); }));
  nodes.push_back(&tree.add_file(
      clock + "state", 0644, [this] { return line(state_); },
      [this](std::string_view text) {
        if (text != "0" && text != "1") return EINVAL;
        state_ = text == "1" ? 1 : 0;
        return 0;
      }));
  nodes.push_back(
      &tree.add_text(clock + "min_rate", std::to_string(table_khz_.front() * kHzInKhz)));
  nodes.push_back(&tree.add_text(clock + "max_rate", std::to_string(table_khz_.back() * kHzInKhz)));
  std::string rates;
  for (const std::int64_t khz : table_khz_) rates += std::to_string(khz) + ' ';
  nodes.push_back(&tree.add_text(debug + "/bpmp/debug/emc/possible_rates", rates + "(kHz)"));
  // Percent of the bandwidth used, times the clock in kHz: readers divide by the rate.
  nodes.push_back(&tree.add_file(debug + "/cactmon/mc_all", 0444, [this] {
    return line(std::llround(100 * dram_share_ * clock_khz()));
  }));
  for (BoardNode* node : nodes) node->size_rule = SizeRule::zero;
  tree.add_file(
      cap_path_, 0664, [this, hertz] { return hertz(static_cast<double>(cap_khz())); },
      [this](std::string_view text) { return write_cap(text); });
}

}  // namespace gearshift
