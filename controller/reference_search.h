// Which mode a weighted goal is measured against: the highest one that the cap lets be measured.
#pragma once

#include <cstddef>
#include <optional>

namespace gearshift {

// Tries the highest mode of an order by power, and where that cannot be measured halves the order
// towards the highest one that can be. Asks for kMostSteps modes at most, so that the one found may
// be as much as a kMostSteps-th power of two of the order below the highest possible.
class ReferenceSearch {
 public:
  static constexpr int kMostSteps = 7;

  // Of `modes` in order, lowest power first.
  explicit ReferenceSearch(std::size_t modes) : end_(modes) {}

  // The place in the order to measure next; nullopt where the search is over.
  std::optional<std::size_t> next() const;
  // What came of next().
  void measured() { add(true); }
  void failed() { add(false); }
  // The highest place that was measured; nullopt where none was.
  std::optional<std::size_t> found() const { return found_; }
  bool is_highest() const { return steps_ == 1 && found_; }

 private:
  void add(bool was_measured);

  std::size_t begin_ = 0;  // those before it are found or lower
  std::size_t end_;        // those from here on cannot be measured
  int steps_ = 0;
  std::optional<std::size_t> found_;
};

}  // namespace gearshift
