#include "sensors/sampler.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

namespace gearshift {
namespace {

bool same_channel(const Reading& a, const Reading& b) {
  return a.quantity == b.quantity && a.channel == b.channel;
}

}  // namespace

Time shown_at(Time begin, Time end) {
  constexpr Duration kMostEarly = std::chrono::milliseconds(20);
  return end - std::min((end - begin) / 2, kMostEarly);
}

Sampler::Sampler(std::unique_ptr<BlockingSensor> sensor, const Clock& clock, Duration period)
    : sensor_(std::move(sensor)),
      clock_(clock),
      period_(period),
      wake_descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_descriptor_ < 0) {
    throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
  }
  try {
    thread_ = std::thread(&Sampler::run, this);
  } catch (...) {
    close(wake_descriptor_);
    throw;
  }
}

Sampler::~Sampler() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  sensor_->interrupt();
  stopping_.notify_all();
  thread_.join();
  close(wake_descriptor_);
}

void Sampler::run() {
  std::vector<Reading> readings;
  std::vector<Explanation> explanations;
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    readings.clear();
    explanations.clear();
    const Time begin = clock_.now();
    sensor_->read(begin, readings);
    const Time end = clock_.now();
    for (const Reading& reading : readings) {
      if (reading.state == ReadingState::ok) continue;
      explanations.push_back({reading.quantity, reading.channel, sensor_->explain(reading)});
    }
    lock.lock();
    if (stop_) return;
    for (Reading& reading : readings) {
      if (reading.taken > begin) continue;  // the sensor made several reads, and knows of which
      if (reading.taken == begin) {
        reading.taken = shown_at(begin, end);
        continue;
      }
      // The sensor repeats an older value: it keeps the time it was handed over with.
      for (const Reading& before : newest_) {
        if (same_channel(before, reading) && before.state == reading.state) {
          reading.taken = before.taken;
        }
      }
    }
    newest_.swap(readings);
    explanations_.swap(explanations);
    const std::uint64_t one = 1;
    // Fails only with a full counter, which is readable all the same.
    [[maybe_unused]] const ssize_t put = write(wake_descriptor_, &one, sizeof one);
    rest(lock, end - begin);
  }
}

// Until the next read is due, which may come to be sooner meanwhile.
void Sampler::rest(std::unique_lock<std::mutex>& lock, Duration since_begin) {
  const bool closely = closely_;
  const Duration period = closely ? std::min(period_, kClosePeriod) : period_;
  const Duration left = period - since_begin;
  if (left <= Duration::zero()) return;
  stopping_.wait_for(lock, left, [&] { return stop_ || (closely_ && !closely); });
}

void Sampler::look_closely(bool closely) {
  {
    const std::lock_guard lock(mutex_);
    if (closely_ == closely) return;
    closely_ = closely;
  }
  stopping_.notify_all();
}

void Sampler::read(Time now, std::vector<Reading>& readings) {
  const std::lock_guard lock(mutex_);
  if (newest_.empty()) {
    readings.push_back({Quantity::power, ReadingState::missing, false, 0, 0, now});
    return;
  }
  readings.insert(readings.end(), newest_.begin(), newest_.end());
}

std::string Sampler::explain(const Reading& reading) const {
  if (reading.state == ReadingState::ok) return "";
  const std::lock_guard lock(mutex_);
  for (const Explanation& explanation : explanations_) {
    if (explanation.quantity == reading.quantity && explanation.channel == reading.channel) {
      return explanation.text;
    }
  }
  return newest_.empty() ? "the first read has not ended yet" : "";
}

}  // namespace gearshift
