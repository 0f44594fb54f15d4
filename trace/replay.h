// Plays a recording back to the loop: the same inputs must give the same decisions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/policy.h"
#include "controller/think_time.h"
#include "trace/recording.h"
#include "trace/recording_reader.h"

namespace gearshift {

// The first decision that came out otherwise, each as one line (recording_text.h).
struct Difference {
  std::int64_t tick = 0;
  Duration since_start{};
  std::string recorded;
  std::string replayed;
};

struct ReplayResult {
  std::int64_t ticks = 0;
  std::int64_t decisions = 0;  // notes, commands and knob writes that were compared
  Duration duration{};
  std::optional<Difference> difference;
};

// World, board and limits of one recording, for one replay.
class Replay {
 public:
  // `reader` is borrowed, and stands at its first tick.
  explicit Replay(RecordingReader& reader);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  // Runs the loop to the end of the recording or to the first difference. Once. Throws
  // RecordingError where the file turns out to be damaged.
  ReplayResult run(Policy& policy);
  // What the recorded policy is told of its time; lives as long as this.
  ThinkTime& think_time();
  // While it runs: how far it has come.
  Duration since_start() const;
  // While it runs: how often the world has been found to have changed.
  std::uint32_t worlds() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
  std::unique_ptr<ThinkTime> think_time_;
};

}  // namespace gearshift
