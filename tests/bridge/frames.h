// Frames for tests: any msgpack map from JSON-like lists, hostile ones included.
#pragma once

#include <cstdint>
#include <msgpack.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include "bridge/protocol.h"

namespace gearshift::frames {

template <typename Message>
std::string packed(const Message& message) {
  wire::FrameBuffer buffer;
  wire::pack(buffer, message);
  return std::string(buffer.view());
}

// What the other side of the wire gets. Throws std::runtime_error where it takes no such message.
template <typename Family, typename Message>
Message round_trip(const Message& message) {
  Family decoded;
  const wire::Fault fault = wire::decode(packed(message), decoded);
  if (fault) throw std::runtime_error(std::string(fault.error().message.view()));
  return std::get<Message>(decoded);
}

// Builds a map entry by entry; the count in its head is that of the calls, unless said otherwise.
class Map {
 public:
  explicit Map(std::string_view type) { with("type", type); }
  Map() = default;

  template <typename Value>
  Map& with(std::string_view key, const Value& value) {
    msgpack::packer<wire::FrameBuffer> packer(body_);
    packer.pack(key);
    packer.pack(value);
    ++entries_;
    return *this;
  }
  // A key whose value is these bytes as they are.
  Map& with_raw(std::string_view key, std::string_view bytes) {
    msgpack::packer<wire::FrameBuffer>(body_).pack(key);
    body_.write(bytes.data(), bytes.size());
    ++entries_;
    return *this;
  }
  std::string frame() const { return frame(entries_); }
  std::string frame(std::uint32_t announced_entries) const {
    wire::FrameBuffer head;
    msgpack::packer<wire::FrameBuffer>(head).pack_map(announced_entries);
    return std::string(head.view()) + std::string(body_.view());
  }

 private:
  wire::FrameBuffer body_;
  std::uint32_t entries_ = 0;
};

// A hello of "lenet" that every daemon takes.
inline wire::Hello hello(Kind kind = Kind::train) {
  wire::Hello hello;
  hello.name = wire::Text("lenet");
  hello.kind = kind;
  hello.pid = 4242;
  hello.batch_size = 16;
  hello.batch_sizes = {8, 16, 32};
  hello.batch_size_count = 3;
  hello.samples_per_epoch = 1437;
  return hello;
}

inline wire::Report report(std::uint64_t sequence) {
  wire::Report report;
  report.sequence = sequence;
  report.batch_size = 16;
  report.elapsed = std::chrono::microseconds(4500);
  report.fetch_stall = std::chrono::microseconds(200);
  report.compute = std::chrono::microseconds(4100);
  return report;
}

inline wire::Requests requests(std::uint64_t sequence) {
  using std::chrono::milliseconds;
  wire::Requests requests;
  requests.sequence = sequence;
  requests.span = milliseconds(500);
  requests.arrived = 31;
  requests.served = 30;
  requests.late = 1;
  requests.queued = 3;
  requests.latency_p50 = milliseconds(41);
  requests.latency_p95 = milliseconds(78);
  requests.latency_p99 = milliseconds(95);
  requests.latency_max = milliseconds(101);
  return requests;
}

}  // namespace gearshift::frames
