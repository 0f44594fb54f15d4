// Why a source of readings that is waited for is not there yet, for people.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gearshift {

class AwaitedReason {
 public:
  // Why there was none at the start.
  explicit AwaitedReason(std::string at_start) : at_start_(std::move(at_start)) {}

  // What a later look has found, the conclusion last; nothing where it has found nothing to say.
  void look_found(const std::vector<std::string>& findings) {
    if (!findings.empty()) newest_ = findings.back();
  }

  // What was found last stands beside what was found at the start, where it is something else.
  std::string text() const {
    const bool known = at_start_.find(newest_) != std::string::npos;
    return known ? at_start_ : at_start_ + "; now: " + newest_;
  }

 private:
  std::string at_start_;
  std::string newest_;
};

}  // namespace gearshift
