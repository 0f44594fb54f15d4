// The messages of bridge/PROTOCOL.md as values: packed into a reused buffer, decoded within bounds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "controller/clock.h"
#include "controller/event.h"
#include "controller/setting.h"

namespace gearshift::wire {

inline constexpr std::int64_t kVersion = 1;
inline constexpr std::size_t kMaxFrameBytes = 4096;
inline constexpr std::uint32_t kMaxMapEntries = 64;
inline constexpr int kMaxDepth = 3;
inline constexpr std::size_t kMaxTextBytes = 64;
inline constexpr std::size_t kMaxMessageBytes = 256;
inline constexpr std::int64_t kMaxBatchSize = 1 << 20;
inline constexpr std::int64_t kMaxSamplesPerEpoch = 1'000'000'000'000;
inline constexpr Duration kMaxElapsed = std::chrono::hours(1);
inline constexpr std::int64_t kMaxPowerMw = 100'000'000;
inline constexpr std::int64_t kMillion = 1'000'000;  // parts of one, in fields that end in _ppm

using Text = BoundedText<kMaxTextBytes>;
using MessageText = BoundedText<kMaxMessageBytes>;

// Either side.

struct Heartbeat {};
struct Bye {};

// Client to daemon.

struct Hello {
  std::int64_t version = kVersion;
  Text name;
  Kind kind = Kind::train;
  std::int32_t pid = 0;
  std::int32_t batch_size = 0;
  std::array<std::int32_t, kMaxBatchSizes> batch_sizes{};  // ascending
  std::uint8_t batch_size_count = 0;
  std::int64_t samples_per_epoch = 0;
  Duration latency{};  // that its requests must be answered within; 0: it does not say
  bool saves = false;  // its work, when it is asked to
};

struct Report {  // type "minibatch"
  std::uint64_t sequence = 0;
  std::uint32_t set = 0;
  std::uint32_t epoch = 0;
  std::int32_t batch_size = 0;
  Duration elapsed{};
  Duration fetch_stall{};
  Duration compute{};
};

struct Requests {  // type "requests"
  std::uint64_t sequence = 0;
  std::uint32_t set = 0;
  Duration span{};
  std::uint32_t arrived = 0;
  std::uint32_t served = 0;
  std::uint32_t late = 0;
  std::uint32_t refused = 0;
  std::uint32_t queued = 0;
  Duration latency_p50{};
  Duration latency_p95{};
  Duration latency_p99{};
  Duration latency_max{};
};

struct Applied {
  std::uint32_t set = 0;
  std::int32_t batch_size = 0;
  Run run = Run::both;
};

struct Refused {
  std::uint32_t set = 0;
  Text code;
  MessageText message;
};

struct Saved {
  std::uint32_t checkpoint = 0;
  Duration elapsed{};
};

struct Unsaved {
  std::uint32_t checkpoint = 0;
  MessageText message;
};

struct TurnRequest {
  std::uint64_t turn = 0;  // the client's own number
};

struct TurnEnd {
  std::uint64_t turn = 0;
};

using ClientMessage = std::variant<Heartbeat, Hello, Report, Requests, Applied, Refused, Saved,
                                   Unsaved, TurnRequest, TurnEnd, Bye>;

// Daemon to client.

struct Welcome {
  std::int64_t version = kVersion;
  WorkloadHandle workload = 0;
  bool managed = false;
  Duration heartbeat{};
  Duration silent_after{};
  MessageText message;
};

struct Set {
  std::uint32_t set = 0;
  std::int32_t batch_size = 0;
  Run run = Run::both;
};

struct CheckpointRequest {  // type "checkpoint"
  std::uint32_t checkpoint = 0;
  Duration within{};  // its answer is waited for so long
};

struct Error {
  Text code;
  MessageText message;
};

struct Turn {
  std::uint64_t turn = 0;
  Duration longest{};  // it may be held
};

using DaemonMessage = std::variant<Heartbeat, Welcome, Set, CheckpointRequest, Turn, Error, Bye>;

// Operator to daemon, and back (status answers: bridge/status_answer.h).

struct StatusRequest {};
struct ExplainRequest {
  std::uint32_t from = 0;  // number of the first setting that is wanted
};
struct CapRequest {
  std::int64_t power_mw = 0;  // 0 lifts the operator's cap
};
struct GoalRequest {
  GoalChange change;  // something of it is there
};
struct StopRequest {};
struct Ok {};

using ControlRequest =
    std::variant<StatusRequest, ExplainRequest, CapRequest, GoalRequest, StopRequest>;

// Decoding.

// Why a frame is no message. `field` and `reason` are literals; `field` may be empty.
struct Fault {
  enum class Code : std::uint8_t { none, malformed, unknown_type, version, invalid };
  Code code = Code::none;
  std::string_view field;
  std::string_view reason;
  std::int64_t version = 0;  // of a hello whose version is not kVersion

  explicit operator bool() const { return code != Code::none; }
  Error error() const;  // as it is told to the peer
};

// Decodes any bytes: a Fault, or `message` set. Never throws, never allocates; texts longer than
// their bound and integers out of bounds are faults, not cut.
Fault decode(std::string_view frame, ClientMessage& message) noexcept;
Fault decode(std::string_view frame, DaemonMessage& message) noexcept;
Fault decode(std::string_view frame, ControlRequest& message) noexcept;

// Packing.

// Bytes of one frame; a stream for msgpack::packer. Keeps its memory when cleared.
class FrameBuffer {
 public:
  FrameBuffer() { bytes_.reserve(kMaxFrameBytes); }
  void write(const char* bytes, std::size_t size) { bytes_.append(bytes, size); }
  void clear() { bytes_.clear(); }
  std::string_view view() const { return bytes_; }

 private:
  std::string bytes_;
};

// Each replaces what is in the buffer by one frame.
void pack(FrameBuffer& buffer, const Heartbeat&);
void pack(FrameBuffer& buffer, const Bye&);
void pack(FrameBuffer& buffer, const Hello& hello);
void pack(FrameBuffer& buffer, const Report& report);
void pack(FrameBuffer& buffer, const Requests& requests);
void pack(FrameBuffer& buffer, const Applied& applied);
void pack(FrameBuffer& buffer, const Refused& refused);
void pack(FrameBuffer& buffer, const Saved& saved);
void pack(FrameBuffer& buffer, const Unsaved& unsaved);
void pack(FrameBuffer& buffer, const TurnRequest& request);
void pack(FrameBuffer& buffer, const TurnEnd& end);
void pack(FrameBuffer& buffer, const Turn& turn);
void pack(FrameBuffer& buffer, const Welcome& welcome);
void pack(FrameBuffer& buffer, const Set& set);
void pack(FrameBuffer& buffer, const CheckpointRequest& request);
void pack(FrameBuffer& buffer, const Error& error);
void pack(FrameBuffer& buffer, const StatusRequest&);
void pack(FrameBuffer& buffer, const ExplainRequest& request);
void pack(FrameBuffer& buffer, const CapRequest& request);
void pack(FrameBuffer& buffer, const GoalRequest& request);
void pack(FrameBuffer& buffer, const StopRequest&);
void pack(FrameBuffer& buffer, const Ok&);

}  // namespace gearshift::wire
