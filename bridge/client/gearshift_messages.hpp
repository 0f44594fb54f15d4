// What people should know, until the program takes it: each text once.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_set>
#include <utility>

namespace gearshift::client::detail {

class Messages {
 public:
  // Of different texts no more are told: what goes on for days fills no log.
  static constexpr std::size_t kMostTexts = 64;

  // Not what was told before, nor an empty text.
  void tell(const std::string& text) {
    if (text.empty() || told_.size() == kMostTexts || !told_.insert(text).second) return;
    waiting_.push_back(text);
  }
  // The one that has waited longest; empty where none does.
  std::string take() {
    if (waiting_.empty()) return {};
    std::string text = std::move(waiting_.front());
    waiting_.pop_front();
    return text;
  }

 private:
  std::unordered_set<std::string> told_;
  std::deque<std::string> waiting_;  // kMostTexts at most
};

}  // namespace gearshift::client::detail
