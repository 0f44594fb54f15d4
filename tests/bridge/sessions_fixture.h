// Sessions with recorded peers, a pretended /proc and a time that tests move.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "bridge/sessions.h"
#include "tests/bridge/frames.h"
#include "tests/fakes/recording_peers.h"

namespace gearshift {

inline constexpr std::uint32_t kUser = 1000;

// Process 4242 is the allowed user's, 1 is root's; there are no others.
inline std::optional<ProcessIdentity> pretended_process(std::int32_t pid) {
  if (pid == 4242) return ProcessIdentity{kUser, 77};
  if (pid == 1) return ProcessIdentity{0, 1};
  return std::nullopt;
}

class SessionsTest : public testing::Test {
 protected:
  template <typename Message>
  void receive(const std::string& identity, const Message& message) {
    sessions.receive(identity, frames::packed(message), now, events);
  }
  void receive_bytes(const std::string& identity, const std::string& frame) {
    sessions.receive(identity, frame, now, events);
  }
  // Attaches and forgets what that did.
  WorkloadHandle attach(const std::string& identity, Kind kind = Kind::train) {
    receive(identity, frames::hello(kind));
    const auto welcome = peers.last<wire::Welcome>(identity);
    events.clear();
    peers.clear();
    return welcome ? welcome->workload : WorkloadHandle{0};
  }
  void advance(Duration duration) {
    now += duration;
    sessions.advance(now, events);
  }
  int count(EventType type) const {
    int found = 0;
    for (const Event& event : events) found += event.type == type ? 1 : 0;
    return found;
  }

  fakes::RecordingPeers peers;
  std::optional<ProcessIdentity> trainer = pretended_process(4242);
  Sessions sessions{
      peers, [this](std::int32_t pid) { return pid == 4242 ? trainer : pretended_process(pid); },
      SessionOptions{.allowed_user = kUser}};
  Time now{std::chrono::hours(1)};
  EventBuffer events;
};

}  // namespace gearshift
