// Asks a running daemon for something over its control endpoint, from an operator's program.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bridge/explanation_answer.h"
#include "bridge/protocol.h"
#include "bridge/status_answer.h"

namespace gearshift {

// No daemon answered in time: what() names the endpoint and how to find another.
struct UnreachableError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Where the daemon is, and what lets this program in.
struct ControlAddress {
  std::string endpoint;  // empty: the default one (control_endpoint_to_connect)
  std::string key;  // the file of gearshift keys client, for tcp; empty: GEARSHIFT_KEY's, if set
};

// Each call connects, asks and waits for the answer. Throws UnreachableError, and
// std::runtime_error where the key cannot be used or the daemon refuses.
class ControlClient {
 public:
  // Throws std::invalid_argument where the endpoint is none.
  explicit ControlClient(ControlAddress address,
                         std::chrono::milliseconds timeout = std::chrono::seconds(2));

  const std::string& endpoint() const { return endpoint_; }
  void cap(std::int64_t power_mw);  // 0 lifts the operator's cap
  void goal(const GoalChange& change);
  wire::StatusAnswer status();
  wire::ExplanationAnswer explain();  // asks once a page
  void stop();

 private:
  std::string ask();  // sends buffer_

  std::string endpoint_;
  std::string key_;
  std::chrono::milliseconds timeout_;
  wire::FrameBuffer buffer_;
};

}  // namespace gearshift
