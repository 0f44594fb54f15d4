// What the daemon does for each report must not allocate: hostile clients choose how often it is
// done.
#include <gtest/gtest.h>

#include "bridge/protocol.h"
#include "bridge/sessions.h"
#include "tests/bridge/frames.h"
#include "tests/fakes/counted_allocations.h"

namespace gearshift {
namespace {

using fakes::allocations;

class SilentPeers final : public Peers {
 public:
  bool send(std::string_view, std::string_view frame) override {
    bytes += frame.size();
    return true;
  }
  std::size_t bytes = 0;
};

TEST(Allocation, IsCountedHere) {
  const std::size_t before = allocations;
  // Called by name, because the compiler may leave out a pair of new and delete.
  ::operator delete(::operator new(1));
  EXPECT_EQ(allocations, before + 1);
}

TEST(Allocation, IsNotNeededForAReportOrACommand) {
  SilentPeers peers;
  Sessions sessions(peers, identify_process, SessionOptions{});
  EventBuffer events;
  events.reserve(kMaxEventsPerTick);
  Time now(std::chrono::hours(1));
  sessions.receive("a", frames::packed(frames::hello()), now, events);
  const WorkloadHandle handle = events.at(0).handle;
  const std::string report = frames::packed(frames::report(1));
  const std::string applied = frames::packed(wire::Applied{1, 32, Run::both});
  const std::size_t before = allocations;
  sessions.receive("a", report, now, events);
  sessions.command(handle, {1, 32, Run::both});
  sessions.receive("a", applied, now, events);
  now += std::chrono::seconds(1);
  sessions.advance(now, events);
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(events.size(), 3u);
}

TEST(Allocation, IsNotNeededToSeeThatBytesAreNoMessage) {
  using std::string_literals::operator""s;
  const std::string frames[] = {"\xdf\xff\xff\xff\xff"s, "\x81\xa4type\xdb\xff\xff\xff\xff"s,
                                std::string(4096, '\x91'), std::string(5000, 'a')};
  wire::ClientMessage message;
  const std::size_t before = allocations;
  for (const std::string& frame : frames) wire::decode(frame, message);
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace gearshift
