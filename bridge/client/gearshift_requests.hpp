// What becomes of a server's requests: the error of those that get no answer, and the counts that
// the daemon hears of.
//
//   gearshift::client::RequestLog log(latency);
//   log.arrived();                         // for each request
//   log.answered(latency_of_this_one);     // or log.refused()
//   if (const auto counts = log.take_due(now, queued)) workload.requests(*counts);
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bridge/client/gearshift_wire.hpp"

namespace gearshift::client {

// A request that got no answer: refused when it came, or dropped when it was late or the server
// closed.
struct RequestNotServed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace detail {

inline constexpr std::size_t kMostQueued = 65536;  // requests

// For people: 12.3, or 100 where it is whole.
inline std::string milliseconds_text(std::chrono::nanoseconds time, const char* format) {
  char text[32];
  std::snprintf(text, sizeof text, format, static_cast<double>(time.count()) / 1e6);
  return text;
}

// Why a request is refused at whose arrival `queued` others wait; it would be among `size` that
// take `infer`.
inline std::string refusal(std::size_t queued, std::int32_t size, std::chrono::nanoseconds infer,
                           std::chrono::nanoseconds latency) {
  const std::string wait = "refused: " + std::to_string(queued) + " requests wait, ";
  if (queued >= kMostQueued) return wait + "which is the most";
  return wait + "and " + std::to_string(size) + " take " + milliseconds_text(infer, "%.1f") +
         " ms: this one would be answered later than " + milliseconds_text(latency, "%g") + " ms";
}

// Why a request is dropped whose turn comes after `waited`.
inline std::string lateness(std::chrono::nanoseconds waited, std::chrono::nanoseconds latency) {
  return "dropped: it waited " + milliseconds_text(waited, "%.1f") + " ms of " +
         milliseconds_text(latency, "%g") + " ms";
}

}  // namespace detail

// Not for several threads at once. Any clock that never goes back will do.
class RequestLog {
 public:
  using Time = std::chrono::nanoseconds;  // since any moment

  // `latency`: a request answered later than that is late; 0: none is.
  RequestLog(std::chrono::nanoseconds latency, Time now) : latency_(latency), began_(now) {
    latencies_.reserve(kMostLatencies);
  }

  void arrived() { ++counts_.arrived; }
  void answered(std::chrono::nanoseconds latency) {
    ++counts_.served;
    if (latency_.count() > 0 && latency > latency_) ++counts_.late;
    if (latencies_.size() < kMostLatencies) latencies_.push_back(latency);
    latency_max_ = std::max(latency_max_, latency);
  }
  // Or dropped: it is never answered.
  void refused() {
    ++counts_.refused;
    ++counts_.late;
  }
  // Without an answer, and for no setting's fault: the model failed, or run() ended. It is counted
  // where it was late by then, as dropped.
  void ended(std::chrono::nanoseconds waited) {
    if (latency_.count() > 0 && waited > latency_) refused();
  }

  // The counts since the last time, when they are due: twice a second while requests come or wait,
  // once more when that ends, and after one was late within a tenth of a second.
  std::optional<RequestCounts> take_due(Time now, std::size_t queued) {
    const std::chrono::nanoseconds span = now - began_;
    const bool moves = holds_some() || queued > 0;
    if (span < kShortest || (span < kUsual && counts_.late == 0)) return std::nullopt;
    if (!moves && !moved_) {
      began_ = now;  // an idle time is no span
      return std::nullopt;
    }
    moved_ = moves;
    return take(now, queued);
  }

  // As take_due(), at once, where nothing waits and no more is to come: what the daemon would else
  // never hear of.
  std::optional<RequestCounts> take_rest(Time now) {
    return holds_some() ? std::optional(take(now, 0)) : std::nullopt;
  }

  // When take_due() may next have something, unless a request comes or is answered.
  Time next_due() const { return began_ + (counts_.late > 0 ? kShortest : kUsual); }

 private:
  static constexpr std::chrono::nanoseconds kUsual = std::chrono::milliseconds(500);
  static constexpr std::chrono::nanoseconds kShortest = std::chrono::milliseconds(100);
  // More in one span are counted, and in no quantile but the maximum.
  static constexpr std::size_t kMostLatencies = 8192;

  bool holds_some() const { return counts_.arrived + counts_.served + counts_.refused > 0; }

  RequestCounts take(Time now, std::size_t queued) {
    RequestCounts counts = counts_;
    counts.span = std::max(now - began_, std::chrono::nanoseconds(1));
    counts.queued = static_cast<std::uint32_t>(std::min<std::size_t>(queued, UINT32_MAX));
    std::sort(latencies_.begin(), latencies_.end());
    counts.latency_p50 = quantile(50);
    counts.latency_p95 = quantile(95);
    counts.latency_p99 = quantile(99);
    counts.latency_max = latency_max_;
    counts_ = {};
    latencies_.clear();
    latency_max_ = {};
    began_ = now;
    return counts;
  }

  // The value at rank ceil(percent of all), from the first.
  std::chrono::nanoseconds quantile(std::size_t percent) const {
    if (latencies_.empty()) return {};
    return latencies_[(percent * latencies_.size() + 99) / 100 - 1];
  }

  const std::chrono::nanoseconds latency_;
  Time began_;
  RequestCounts counts_;
  bool moved_ = false;  // the last report told of requests
  std::vector<std::chrono::nanoseconds> latencies_;
  std::chrono::nanoseconds latency_max_{0};
};

}  // namespace gearshift::client
