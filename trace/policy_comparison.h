// What another policy would have asked for, had it sat in the place of the one that was recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "controller/policy.h"
#include "controller/roster.h"
#include "trace/recording_reader.h"
#include "trace/replay.h"

namespace gearshift {

// An observation of a recording, and what it says something of.
struct PlacedObservation {
  Observation observation;
  std::string workloads;    // that were managed, as Roster::key() names them
  std::uint32_t world = 0;  // how often the world had been found to have changed
};

// Every observation, in the order they were made; of one that was late, with the rate of arrivals
// of then. Reads the recording to its end. Throws RecordingError.
std::vector<PlacedObservation> read_placed_observations(RecordingReader& reader);

// A script that asks for known settings without an end is stopped here.
inline constexpr std::size_t kMostCompared = 5000;

// One run of the policies from the top: after an attach, a new goal or a new script.
struct ComparedSearch {
  Duration since_start{};
  Goal goal;
  std::vector<Request> recorded;
  std::vector<Request> other;
  // Where the other one asked for what the recording has no answer to; its last request is that
  // question.
  bool other_unanswered = false;
  bool other_stopped = false;  // after kMostCompared requests: it asked on, and was answered
  std::string other_failure;   // where its last request is a failure
};

// Open loop: the recorded policy drives the replay, and the other one starts wherever it starts,
// with the same goal, seed and observations. It is answered by what was measured anywhere in the
// recording, before or after, of the same workloads in the same world.
class ComparedPolicy : public Policy {
 public:
  // Borrows both and the replay that tells the time.
  ComparedPolicy(Policy& recorded, Policy& other, const Replay& replay,
                 std::vector<PlacedObservation> observations);

  Request start(const PolicyContext& context) override;
  Request resume(const Observation& answer) override;
  Request replace(std::string_view text, const PolicyContext& context) override;
  std::string_view failure() const override { return recorded_.failure(); }
  std::string take_log() override { return recorded_.take_log(); }

  const std::vector<ComparedSearch>& searches() const { return searches_; }

 private:
  Request begin(const Request& first, const PolicyContext& context);
  const Request& add(std::vector<Request>& requests, Request request) const;
  void ask_other(const PolicyContext& context, ComparedSearch& search);
  const Observation* find(const Setting& setting, const Goal& goal) const;

  Policy& recorded_;
  Policy& other_;
  const Replay& replay_;
  std::vector<PlacedObservation> observations_;
  // Of the running search.
  Roster roster_;
  std::string workloads_;
  std::uint32_t world_ = 0;
  std::vector<ComparedSearch> searches_;
};

}  // namespace gearshift
