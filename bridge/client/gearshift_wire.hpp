// The C++ client's side of bridge/PROTOCOL.md: its options, decoding, and where the daemon is.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <msgpack.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace gearshift::client {

enum class Kind : std::uint8_t { train, infer };
enum class Run : std::uint8_t { train, infer, both };

struct Options {
  std::string name{};  // of the work, 1 to 64 bytes: measurements are remembered under it
  Kind kind = Kind::train;
  std::int32_t batch_size = 1;              // in use now, samples
  std::vector<std::int32_t> batch_sizes{};  // that may be asked for; empty: only batch_size
  std::int64_t samples_per_epoch = 0;       // 0: unknown
  std::string endpoint{};               // empty: GEARSHIFT_ENDPOINT, else where a daemon listens
  std::chrono::nanoseconds latency{0};  // infer: what a request is answered within; 0: not said
  // Saves the work where power is about to end, and throws where it cannot. Called by poll() and
  // wait(), between two minibatches. Empty: the daemon does not ask.
  std::function<void()> save{};
  std::string key{};  // file of gearshift keys client, for tcp; empty: GEARSHIFT_KEY
};

// What became of the requests of a server in a span of time: a `requests` message of PROTOCOL.md.
struct RequestCounts {
  std::chrono::nanoseconds span{0};
  std::uint32_t arrived = 0;
  std::uint32_t served = 0;
  std::uint32_t late = 0;     // answered after the latency, refused or dropped
  std::uint32_t refused = 0;  // of them, those refused or dropped
  std::uint32_t queued = 0;   // that wait now
  std::chrono::nanoseconds latency_p50{0};
  std::chrono::nanoseconds latency_p95{0};
  std::chrono::nanoseconds latency_p99{0};
  std::chrono::nanoseconds latency_max{0};
};

// What the daemon asks for. `set` is 0 before it has asked.
struct Wanted {
  std::uint32_t set = 0;
  std::int32_t batch_size = 0;  // samples
  Run run = Run::both;
};

namespace detail {

inline constexpr std::size_t kMaxMessageBytes = 4096;
inline constexpr int kProtocolVersion = 1;
inline constexpr std::size_t kMaxNameBytes = 64;  // and of a code
inline constexpr std::size_t kMaxTextBytes = 256;
inline constexpr std::int64_t kMaxSamplesPerEpoch = 1'000'000'000'000;
inline constexpr std::int32_t kMaxBatchSize = 1048576;
inline constexpr std::int64_t kMaxDurationNs = 3'600'000'000'000;  // more is a fault

// Length of the UTF-8 character at the start of `text` if a message may hold it, else 0.
inline std::size_t printable_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  const std::uint8_t second = byte(1);
  const bool control = first == 0xc2 && second < 0xa0;
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool beyond = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return control || overlong || beyond ? 0 : length;
}

// As much of a text as so many bytes of a message take, with a space for each byte that none does.
inline std::string cut(std::string_view text, std::size_t most_bytes) {
  std::string taken;
  while (!text.empty()) {
    const std::size_t length = printable_character(text);
    const std::size_t bytes = std::max<std::size_t>(length, 1);
    if (taken.size() + bytes > most_bytes) break;
    taken += length > 0 ? text.substr(0, length) : std::string_view(" ");
    text.remove_prefix(bytes);
  }
  return taken;
}

inline const char* run_name(Run run) {
  return run == Run::train ? "train" : run == Run::infer ? "infer" : "both";
}

inline Run run_named(std::string_view name) {
  return name == "train" ? Run::train : name == "infer" ? Run::infer : Run::both;
}

inline bool runs(Kind kind, Run run) {
  return run == Run::both || (run == Run::train) == (kind == Kind::train);
}

// One message to the daemon. Keeps its memory from one to the next.
class Frame {
 public:
  // Starts a message of a type and so many more fields.
  Frame& begin(std::string_view type, std::uint32_t fields) {
    buffer_.clear();
    msgpack::packer<msgpack::sbuffer>(buffer_).pack_map(fields + 1);
    return add("type", type);
  }
  template <typename Value>
  Frame& add(std::string_view key, const Value& value) {
    msgpack::packer<msgpack::sbuffer> packer(buffer_);
    packer.pack(key);
    if constexpr (std::is_same_v<Value, std::chrono::nanoseconds>) {
      packer.pack(std::clamp(value.count(), std::int64_t{0}, kMaxDurationNs));
    } else {
      packer.pack(value);
    }
    return *this;
  }
  const char* data() const { return buffer_.data(); }
  std::size_t size() const { return buffer_.size(); }

 private:
  msgpack::sbuffer buffer_;
};

// Without its times.
inline void pack_minibatch(Frame& frame, std::uint64_t sequence, std::uint32_t set,
                           std::uint32_t epoch, std::int32_t samples) {
  frame.begin("minibatch", 7).add("sequence", sequence).add("set", set);
  frame.add("epoch", epoch).add("batch_size", samples);
}

inline void pack_applied(Frame& frame, const Wanted& wanted) {
  frame.begin("applied", 3).add("set", wanted.set).add("batch_size", wanted.batch_size);
  frame.add("run", std::string_view(run_name(wanted.run)));
}

inline void pack_refused(Frame& frame, std::uint32_t set, const std::string& code,
                         const std::string& message) {
  frame.begin("refused", 3).add("set", set).add("code", cut(code, kMaxNameBytes));
  frame.add("message", cut(message, kMaxTextBytes));
}

inline void pack_requests(Frame& frame, std::uint64_t sequence, std::uint32_t set,
                          const RequestCounts& counts) {
  frame.begin("requests", 12).add("sequence", sequence).add("set", set);
  frame.add("span_ns", std::max(counts.span, std::chrono::nanoseconds(1)));
  frame.add("arrived", counts.arrived).add("served", counts.served).add("late", counts.late);
  frame.add("refused", counts.refused).add("queued", counts.queued);
  frame.add("latency_p50_ns", counts.latency_p50).add("latency_p95_ns", counts.latency_p95);
  frame.add("latency_p99_ns", counts.latency_p99).add("latency_max_ns", counts.latency_max);
}

inline void pack_hello(Frame& frame, const Options& options, std::int32_t batch_size) {
  const bool has_latency = options.latency.count() > 0;
  const bool saves = static_cast<bool>(options.save);
  frame.begin("hello", 7U + (has_latency ? 1U : 0U) + (saves ? 1U : 0U));
  frame.add("version", kProtocolVersion).add("name", options.name);
  frame.add("kind", std::string_view(options.kind == Kind::train ? "train" : "infer"));
  frame.add("pid", static_cast<std::int64_t>(::getpid()));
  frame.add("batch_size", batch_size).add("batch_sizes", options.batch_sizes);
  frame.add("samples_per_epoch", options.samples_per_epoch);
  if (has_latency) frame.add("latency_ns", options.latency);
  if (saves) frame.add("saves", true);
}

// Calls `save`; returns what came of it, as the answer to a checkpoint.
inline Frame save(std::uint32_t checkpoint, const std::function<void()>& save) {
  const auto began = std::chrono::steady_clock::now();
  std::string failure;
  try {
    save();
  } catch (const std::exception& error) {
    failure = cut(error.what(), kMaxTextBytes);
    if (failure.empty()) failure = "it threw";
  } catch (...) {  // and what is no exception of the library: the daemon would wait for an answer
    failure = "it threw";
  }
  const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - began;
  Frame frame;
  frame.begin(failure.empty() ? "saved" : "unsaved", 2).add("checkpoint", checkpoint);
  if (failure.empty()) {
    frame.add("elapsed_ns", elapsed);
  } else {
    frame.add("message", failure);
  }
  return frame;
}

// One message of the daemon; fields it does not have are zero.
struct Incoming {
  std::string type, run, code, message;
  std::int64_t set = 0, batch_size = 0, heartbeat_ns = 0, silent_after_ns = 0, turn = 0,
               checkpoint = 0;
  bool managed = false;
};

// Fills an Incoming from the outermost map of a frame and skips what it does not know.
struct Visitor : msgpack::null_visitor {
  Incoming& incoming;
  int depth = 0;
  bool at_key = false;
  std::string key;

  explicit Visitor(Incoming& target) : incoming(target) {}
  bool start_map(std::uint32_t entries) { return ++depth <= 3 && entries <= 64; }
  bool end_map() { return --depth >= 0; }
  bool start_array(std::uint32_t entries) { return ++depth <= 3 && entries <= 64; }
  bool end_array() { return --depth >= 0; }
  bool start_map_key() { return at_key = true; }
  bool end_map_key() {
    at_key = false;
    return true;
  }
  bool visit_str(const char* text, std::uint32_t bytes) {
    if (depth != 1) return true;
    if (at_key) {
      key.assign(text, bytes);
    } else if (std::string* field = string_field()) {
      *field = cut({text, bytes}, kMaxTextBytes);  // people read it: nothing that a terminal obeys
    }
    return true;
  }
  bool visit_positive_integer(std::uint64_t value) {
    if (depth != 1 || at_key) return true;
    const auto bounded = static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX));
    if (key == "set") incoming.set = bounded;
    if (key == "turn") incoming.turn = bounded;
    if (key == "checkpoint") incoming.checkpoint = bounded;
    if (key == "batch_size") incoming.batch_size = bounded;
    if (key == "heartbeat_ns") incoming.heartbeat_ns = bounded;
    if (key == "silent_after_ns") incoming.silent_after_ns = bounded;
    return true;
  }
  bool visit_boolean(bool value) {
    if (depth == 1 && !at_key && key == "managed") incoming.managed = value;
    return true;
  }
  std::string* string_field() {
    if (key == "type") return &incoming.type;
    if (key == "run") return &incoming.run;
    if (key == "code") return &incoming.code;
    return key == "message" ? &incoming.message : nullptr;
  }
};

// False for bytes that are no message; never throws for any bytes.
inline bool decode(const void* bytes, std::size_t size, Incoming& incoming) {
  if (size == 0 || size > kMaxMessageBytes) return false;
  Visitor visitor(incoming);
  try {
    return msgpack::parse(static_cast<const char*>(bytes), size, visitor) && !incoming.type.empty();
  } catch (const std::exception&) {
    return false;
  }
}

// Of a set or a checkpoint.
inline bool is_number(std::int64_t value) { return value >= 1 && value <= UINT32_MAX; }
// Whether all that a set says is within the bounds of the protocol.
inline bool is_set(const Incoming& message) {
  const bool names_run = message.run == "train" || message.run == "infer" || message.run == "both";
  return is_number(message.set) && message.batch_size >= 1 && message.batch_size <= kMaxBatchSize &&
         names_run;
}

// How often each side says that it is there, and after which silence it is not.
struct SignsOfLife {
  std::chrono::nanoseconds heartbeat = std::chrono::seconds(1);
  std::chrono::nanoseconds silent_after = std::chrono::seconds(5);
};
// What a welcome says of them, held within what keeps both promises: never a flood, and never
// paused by a dead daemon. None where it says no time that a message may have.
inline std::optional<SignsOfLife> signs_of_life(const Incoming& welcome) {
  const auto is_time = [](std::int64_t ns) { return ns >= 1 && ns <= kMaxDurationNs; };
  if (!is_time(welcome.heartbeat_ns) || !is_time(welcome.silent_after_ns)) return std::nullopt;
  const auto held = [](std::int64_t ns, std::chrono::nanoseconds least,
                       std::chrono::nanoseconds most) {
    return std::clamp(std::chrono::nanoseconds(ns), least, most);
  };
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  return SignsOfLife{held(welcome.heartbeat_ns, milliseconds(10), seconds(10)),
                     held(welcome.silent_after_ns, milliseconds(100), seconds(60))};
}

// As people read them: [8, 16]. Not all, where there are too many.
inline std::string list_of(const std::vector<std::int32_t>& sizes) {
  std::string text;
  for (const std::int32_t size : sizes) {
    if (!text.empty()) text += ", ";
    if (text.size() > kMaxTextBytes) return "[" + text + "...]";
    text += std::to_string(size);
  }
  return "[" + text + "]";
}

// Throws std::invalid_argument naming the option and its value, for what no batch size is.
inline void check_batch_size(const std::string& option, std::int32_t batch_size) {
  if (batch_size >= 1 && batch_size <= kMaxBatchSize) return;
  throw std::invalid_argument(option + " " + std::to_string(batch_size) + ": give 1 to " +
                              std::to_string(kMaxBatchSize));
}

// Throws std::invalid_argument naming the option and its value.
inline Options checked(Options options) {
  check_batch_size("batch_size", options.batch_size);
  if (options.batch_sizes.empty()) options.batch_sizes = {options.batch_size};
  const std::vector<std::int32_t>& sizes = options.batch_sizes;
  if (options.name.empty() || cut(options.name, kMaxNameBytes) != options.name) {
    throw std::invalid_argument("name '" + cut(options.name, kMaxTextBytes) +
                                "': give it 1 to 64 bytes of UTF-8, without control characters");
  }
  if (sizes.size() > 32 || sizes.front() < 1 || sizes.back() > kMaxBatchSize ||
      std::adjacent_find(sizes.begin(), sizes.end(), std::greater_equal<>()) != sizes.end()) {
    throw std::invalid_argument("batch_sizes " + list_of(sizes) +
                                ": give at most 32, each larger than the one before, from 1 to " +
                                std::to_string(kMaxBatchSize));
  }
  if (options.samples_per_epoch < 0 || options.samples_per_epoch > kMaxSamplesPerEpoch) {
    throw std::invalid_argument("samples_per_epoch " + std::to_string(options.samples_per_epoch) +
                                ": give 0 (unknown) to " + std::to_string(kMaxSamplesPerEpoch));
  }
  if (options.latency.count() < 0 || options.latency > std::chrono::hours(1)) {
    throw std::invalid_argument("latency of " + std::to_string(options.latency.count()) +
                                " ns: give 0 (not said) to an hour");
  }
  if (std::find(sizes.begin(), sizes.end(), options.batch_size) == sizes.end()) {
    throw std::invalid_argument("batch_size " + std::to_string(options.batch_size) +
                                ": it must be one of batch_sizes " + list_of(sizes));
  }
  return options;
}

// From an error to the next hello. Others may have caused "too many": after 1 to 3 s, and, by
// `draw`, not at the same time for all, so that each has its chance.
inline std::chrono::nanoseconds hello_pause(std::string_view code, std::uint64_t draw) {
  if (code != "too_many") return std::chrono::seconds(10);
  return std::chrono::seconds(1) + std::chrono::nanoseconds(draw % 2'000'000'001);
}

}  // namespace detail

}  // namespace gearshift::client
