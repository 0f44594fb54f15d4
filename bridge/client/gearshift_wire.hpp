// The C++ client's side of bridge/PROTOCOL.md: its options, decoding, and where the daemon is.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <msgpack.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gearshift::client {

enum class Kind : std::uint8_t { train, infer };
enum class Run : std::uint8_t { train, infer, both };

struct Options {
  std::string name;  // of the work, 1 to 64 bytes: measurements are remembered under it
  Kind kind = Kind::train;
  std::int32_t batch_size = 1;            // in use now, samples
  std::vector<std::int32_t> batch_sizes;  // that may be asked for; empty: only batch_size
  std::int64_t samples_per_epoch = 0;     // 0: unknown
  std::string endpoint;                   // empty: GEARSHIFT_ENDPOINT, else where a daemon listens
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

inline const char* run_name(Run run) {
  return run == Run::train ? "train" : run == Run::infer ? "infer" : "both";
}

// One message of the daemon; fields it does not have are zero.
struct Incoming {
  std::string type, run, code, message;
  std::int64_t set = 0, batch_size = 0, heartbeat_ns = 0, silent_after_ns = 0;
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
      field->assign(text, std::min<std::uint32_t>(bytes, 256));
    }
    return true;
  }
  bool visit_positive_integer(std::uint64_t value) {
    if (depth != 1 || at_key) return true;
    const auto bounded = static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX));
    if (key == "set") incoming.set = bounded;
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

// The endpoint by PROTOCOL.md's rules, looked up again at each call.
inline std::string find_endpoint(const std::string& given) {
  if (!given.empty()) return given;
  const char* variable = std::getenv("GEARSHIFT_ENDPOINT");
  if (variable != nullptr && *variable != '\0') return variable;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string system = "/run/gearshift";
  std::string own = "/tmp/gearshift-" + std::to_string(::geteuid());
  if (::geteuid() == 0) {
    own = system;
  } else if (runtime != nullptr && *runtime != '\0') {
    own = std::string(runtime) + "/gearshift";
  }
  const bool only_system = ::access((own + "/workloads.ipc").c_str(), F_OK) != 0 &&
                           ::access((system + "/workloads.ipc").c_str(), F_OK) == 0;
  return "ipc://" + (only_system ? system : own) + "/workloads.ipc";
}

// Throws std::invalid_argument naming the option and its value.
inline Options checked(Options options) {
  if (options.batch_sizes.empty()) options.batch_sizes = {options.batch_size};
  const std::vector<std::int32_t>& sizes = options.batch_sizes;
  if (options.name.empty() || options.name.size() > 64) {
    throw std::invalid_argument("name '" + options.name + "': give it 1 to 64 bytes");
  }
  if (sizes.size() > 32 || sizes.front() < 1 || sizes.back() > 1048576 ||
      std::adjacent_find(sizes.begin(), sizes.end(), std::greater_equal<>()) != sizes.end()) {
    throw std::invalid_argument(
        "batch_sizes: give at most 32, each larger than the one before, from 1 to 1048576");
  }
  if (std::find(sizes.begin(), sizes.end(), options.batch_size) == sizes.end()) {
    throw std::invalid_argument("batch_size " + std::to_string(options.batch_size) +
                                ": it must be one of batch_sizes");
  }
  return options;
}

}  // namespace detail

}  // namespace gearshift::client
