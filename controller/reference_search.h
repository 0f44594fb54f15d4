// Which setting a weighted goal is measured against: the highest one that the cap lets be measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gearshift {

// Tries the highest mode of an order by power, and where that cannot be measured halves the order
// towards the highest one that can be. Asks for kMostSteps modes at most, so that the one found may
// be as much as a kMostSteps-th power of two of the order below the highest possible. Where it
// finds none, the next smaller batch that can be measured in the lowest mode has its turn. Where
// requests are late, no lower mode will do, and the next smaller batch begins at the highest one.
class ReferenceSearch {
 public:
  static constexpr int kMostSteps = 7;

  struct Place {
    std::size_t mode = 0;     // in the order
    std::size_t smaller = 0;  // so many batch sizes below the workload's own
    bool operator==(const Place&) const = default;
  };

  // Of `modes` in order, lowest power first, and so many batch sizes below the workload's own.
  explicit ReferenceSearch(std::size_t modes, std::size_t smaller_batches = 0)
      : modes_(modes), smaller_batches_(smaller_batches), end_(modes) {}

  // What to measure next; nullopt where the search is over.
  std::optional<Place> next() const;
  // What came of next().
  void measured() { add(Came::measured); }
  void failed() { add(Came::failed); }
  void late() { add(Came::late); }
  // The highest place that was measured; nullopt where none was.
  std::optional<Place> found() const { return found_; }
  bool is_highest() const { return found_ && found_->smaller == 0 && steps_ == 1; }

 private:
  enum class Came : std::uint8_t { measured, failed, late };
  bool is_lowest_first() const { return smaller_ > 0 && !found_ && !was_late_; }
  void add(Came came);

  std::size_t modes_;
  std::size_t smaller_batches_;
  std::size_t smaller_ = 0;  // of the batch that has its turn
  bool was_late_ = false;    // in a mode that keeps the cap, as smaller batches do then
  std::size_t begin_ = 0;    // those before it are found, late or lower
  std::size_t end_;          // those from here on cannot be measured
  int steps_ = 0;            // with this batch, but for its first in the lowest mode
  std::optional<Place> found_;
};

// How many of the batch sizes that a workload offers, lowest first, are below its own.
std::size_t smaller_batches(std::span<const std::int32_t> offered, std::int32_t own);
// The one that is so many below its own; the smallest where there are fewer.
std::int32_t smaller_batch(std::span<const std::int32_t> offered, std::int32_t own,
                           std::size_t smaller);

}  // namespace gearshift
