// What a program says of itself that trains and serves through an Interleaver.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "bridge/client/gearshift_wire.hpp"

namespace gearshift::client {

struct InterleaverOptions {
  std::string name{};                       // of the work
  std::string infer_name{};                 // of the served model; empty: the same
  std::chrono::nanoseconds latency{0};      // a request's, from submit() to its answer; 0: no limit
  std::int32_t batch_size = 1;              // requests in an inference minibatch at most
  std::vector<std::int32_t> batch_sizes{};  // that gearshift may choose from
  std::int32_t train_batch_size = 1;        // samples
  std::int64_t samples_per_epoch = 0;       // of training; 0: unknown
  std::string endpoint{};                   // as Options::endpoint
};

namespace detail {

// `serves`: there is what answers requests. Throws std::invalid_argument naming what is wrong; what
// both attachments say is checked by theirs.
inline InterleaverOptions checked(InterleaverOptions options, bool serves) {
  if (!serves) throw std::invalid_argument("infer is empty: give what answers requests");
  check_batch_size("train_batch_size", options.train_batch_size);
  return options;
}

inline Options trainer_of(const InterleaverOptions& options) {
  return {.name = options.name,
          .kind = Kind::train,
          .batch_size = options.train_batch_size,
          .samples_per_epoch = options.samples_per_epoch,
          .endpoint = options.endpoint};
}
inline Options server_of(const InterleaverOptions& options) {
  return {.name = options.infer_name.empty() ? options.name : options.infer_name,
          .kind = Kind::infer,
          .batch_size = options.batch_size,
          .batch_sizes = options.batch_sizes,
          .endpoint = options.endpoint,
          .latency = options.latency};
}

}  // namespace detail

}  // namespace gearshift::client
