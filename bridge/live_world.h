// The live world: one poll over workloads, control requests, signals, the script file and readings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "controller/clock.h"
#include "controller/knob.h"
#include "controller/rationale.h"
#include "controller/world.h"

namespace gearshift {

class SignalWatch;

struct LiveWorldOptions {
  std::string workload_endpoint;      // ipc://PATH, tcp://127.0.0.1:PORT, tcp://[::1]:PORT
  std::string control_endpoint;       // the same; an ipc socket gets mode 0600
  std::filesystem::path keys;         // KeyFolder: tcp is for who has a key, and may be any address
  std::filesystem::path script;       // empty: no script, script() is empty
  std::vector<int> wake_descriptors;  // eventfds (non-blocking), borrowed: readable ends the wait
  std::vector<int> watched_descriptors;  // the same, but read by their owner alone: in every tick
  std::uint32_t allowed_user = 0;        // owner of the workload socket; only its pids are believed
  Duration silent_after = std::chrono::seconds(5);  // a client this silent is detached
  Duration heartbeat = std::chrono::seconds(1);     // what both sides send in silence
  KnobSpace knobs;                       // names the values of a mode in answers to `status`
  SignalWatch* signals = nullptr;        // borrowed; null: none arrive
  const Rationale* rationale = nullptr;  // borrowed: what `explain` is answered from
};

// Reads the time through the Clock it is given; waits with zmq::poll, to a millisecond.
//
// Signals arrive as stop events and (SIGHUP) script_changed.
class LiveWorld final : public World {
 public:
  // Binds both endpoints and reads the script. Throws std::runtime_error that names the endpoint or
  // file, what is wrong and the way out: another daemon there, no such address, beyond loopback
  // without keys, keys that others may read, a script that is missing or larger than 256 KiB.
  LiveWorld(const Clock& clock, LiveWorldOptions options);
  // Says bye to every client.
  ~LiveWorld() override;
  LiveWorld(const LiveWorld&) = delete;
  LiveWorld& operator=(const LiveWorld&) = delete;

  Time wait_until(Time deadline, EventBuffer& events) override;
  void command(WorkloadHandle workload, const WorkloadCommand& command) override;
  std::string_view script() override;
  void publish(const Status& status) override;

  // What the operator should hear of clients with keys, of a script whose edits are not seen and of
  // an endpoint that cannot be reached, once each; empty: nothing new.
  std::string take_complaint();
  // Reports that broke a bound of the protocol and were not used, since the start.
  std::uint64_t dropped_reports() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace gearshift
