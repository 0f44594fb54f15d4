// What a program says of itself that trains and serves through an Interleaver.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bridge/client/gearshift_wire.hpp"

namespace gearshift::client {

struct InterleaverOptions {
  std::string name{};        // of the work
  std::string infer_name{};  // of the served model; empty: the same
  // A request's, from submit() to its answer; 0: no limit. Within it a batch that is not full waits
  // for more, where nothing trains until its latest start: that saves energy. Without a limit none
  // waits there, unless a daemon chose the batch size: then for a second at most, as beside
  // training.
  std::chrono::nanoseconds latency{0};
  std::int32_t batch_size = 1;  // requests in an inference minibatch at most; 1: none waits
  std::vector<std::int32_t> batch_sizes{};  // that gearshift may choose from
  std::int32_t train_batch_size = 1;        // samples
  std::int64_t samples_per_epoch = 0;       // of training; 0: unknown
  std::string endpoint{};                   // as Options::endpoint
  std::function<void()> save{};             // as Options::save; called by run(), and requests wait
  std::string key{};                        // as Options::key
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
          .endpoint = options.endpoint,
          .save = options.save,
          .key = options.key};
}
// `alone`: it saves, since nothing is trained.
inline Options server_of(const InterleaverOptions& options, bool alone) {
  return {.name = options.infer_name.empty() ? options.name : options.infer_name,
          .kind = Kind::infer,
          .batch_size = options.batch_size,
          .batch_sizes = options.batch_sizes,
          .endpoint = options.endpoint,
          .latency = options.latency,
          .save = alone ? options.save : std::function<void()>(),
          .key = options.key};
}

}  // namespace detail

}  // namespace gearshift::client
