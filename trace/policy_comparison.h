// What another policy would have asked for, had it sat in the place of the one that was recorded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/policy.h"
#include "controller/roster.h"
#include "trace/replay.h"

namespace gearshift {

// One run of the policies from the top: after an attach, a new goal or a new script.
struct ComparedSearch {
  Duration since_start{};
  Goal goal;
  std::vector<Request> recorded;
  std::vector<Request> other;
  // Where the other one asked for what the recording has no answer to; its last request is that
  // question.
  bool other_unanswered = false;
  std::string other_failure;  // where its last request is a failure
};

// Open loop: the recorded policy drives the replay, and the other one starts wherever it starts,
// with the same goal, seed and observations. It is answered by what was measured anywhere in the
// recording, before or after.
class ComparedPolicy : public Policy {
 public:
  // Borrows both and the replay that tells the time.
  ComparedPolicy(Policy& recorded, Policy& other, const Replay& replay,
                 std::vector<Observation> observations);

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
  const Observation* find(const Setting& setting, std::int64_t cap_mw) const;

  Policy& recorded_;
  Policy& other_;
  const Replay& replay_;
  std::vector<Observation> observations_;
  Roster roster_;  // of the running search
  std::vector<ComparedSearch> searches_;
};

}  // namespace gearshift
