// Feeds the protocol any bytes: every decoder, both ways, and the sessions of a daemon that talks
// to four such clients. Nothing may crash or throw, what is accepted must be within its bounds, and
// what the daemon answers must itself be messages.
//
// The input is a list of frames: a byte for the client (its low bits) and for how much time goes by
// (its high bits), two bytes of length, the frame.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include "bridge/client/gearshift_wire.hpp"
#include "bridge/frame_reader.h"
#include "bridge/protocol.h"
#include "bridge/sessions.h"
#include "bridge/status_answer.h"

namespace {

using namespace gearshift;

void require(bool condition) {
  if (!condition) std::abort();
}

class CheckingPeers final : public Peers {
 public:
  bool send(std::string_view identity, std::string_view frame) override {
    wire::DaemonMessage message;
    require(!wire::decode(frame, message));
    client::detail::Incoming incoming;
    require(client::detail::decode(frame.data(), frame.size(), incoming));
    ++sent;
    return identity != "3";  // One client is always gone.
  }
  std::size_t sent = 0;
};

template <typename Family>
void check_decoding(std::string_view frame) {
  Family message;
  const wire::Fault fault = wire::decode(frame, message);
  require(!fault || !fault.error().message.view().empty());
  if (fault) return;
  // What was understood can be said again, and is then understood as the same.
  std::visit(
      [](const auto& first) {
        wire::FrameBuffer once;
        wire::pack(once, first);
        Family again;
        require(!wire::decode(once.view(), again));
        wire::FrameBuffer twice;
        std::visit([&](const auto& second) { wire::pack(twice, second); }, again);
        require(once.view() == twice.view());
      },
      message);
}

void check_event(const Event& event) {
  if (event.type == EventType::minibatch) {
    const Minibatch& minibatch = event.minibatch;
    require(minibatch.batch_size >= 1 && minibatch.batch_size <= wire::kMaxBatchSize);
    require(minibatch.elapsed > Duration::zero() && minibatch.elapsed <= wire::kMaxElapsed);
    require(minibatch.fetch_stall >= Duration::zero() && minibatch.compute >= Duration::zero());
  } else if (event.type == EventType::attached) {
    const Workload& workload = event.workload;
    require(workload.handle == event.handle && workload.handle != 0);
    require(workload.batch_size_count >= 1 && workload.batch_size_count <= kMaxBatchSizes);
    require(workload.pid == 0 || workload.pid == 7);
    require(wire::printable(workload.name.view()));
    require(workload.latency >= Duration::zero() && workload.latency <= wire::kMaxElapsed);
  } else if (event.type == EventType::requests) {
    const RequestReport& requests = event.requests;
    require(requests.refused <= requests.late);
    require(requests.late - requests.refused <= requests.served);
    require(requests.span > Duration::zero() && requests.span <= wire::kMaxElapsed);
    require(requests.latency_p50 >= Duration::zero());
    require(requests.latency_p50 <= requests.latency_p95);
    require(requests.latency_p95 <= requests.latency_p99);
    require(requests.latency_p99 <= requests.latency_max);
    require(requests.latency_max <= wire::kMaxElapsed);
  } else {
    require(event.type == EventType::detached || event.type == EventType::applied ||
            event.type == EventType::refused);
  }
}

void check_answers(std::string_view frame) {
  client::detail::Incoming incoming;
  client::detail::decode(frame.data(), frame.size(), incoming);
  try {
    wire::decode_status(frame);
  } catch (const std::runtime_error&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  CheckingPeers peers;
  const auto identify = [](std::int32_t pid) {
    return pid == 7 ? std::optional(ProcessIdentity{1000, 77}) : std::nullopt;
  };
  Sessions sessions(peers, identify, SessionOptions{.allowed_user = 1000});
  Time now(std::chrono::hours(1));
  EventBuffer events;
  std::uint32_t sequence = 0;
  while (input.size() >= 3) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(input[i]); };
    const std::string identity(1, static_cast<char>('0' + (byte(0) & 3U)));
    const Duration passed = std::chrono::milliseconds(100) * (byte(0) >> 2U);
    const std::size_t announced = byte(1) * std::size_t{256} + byte(2);
    const std::string_view frame = input.substr(3, announced);
    input.remove_prefix(3 + frame.size());

    check_decoding<wire::ClientMessage>(frame);
    check_decoding<wire::DaemonMessage>(frame);
    check_decoding<wire::ControlRequest>(frame);
    check_answers(frame);

    events.clear();
    now += passed;
    sessions.receive(identity, frame, now, events);
    sessions.advance(now, events);
    require(events.size() <= 4 * kMaxSessions);
    for (const Event& event : events) {
      check_event(event);
      // Commands go out as a controller would give them, so that answers to them are met too.
      if (event.type == EventType::attached) {
        sessions.command(event.handle, {++sequence, event.workload.batch_size, Run::both});
      }
    }
    require(sessions.next_due(now) <= now + std::chrono::seconds(1));
  }
  sessions.close();
  return 0;
}
