// The minimum and the maximum of one clock, which pin it when they are equal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "actuators/knob_control.h"
#include "actuators/knob_journal.h"
#include "boards/sysroot.h"

namespace gearshift {

class LimitPair {
 public:
  struct Limits {
    std::int64_t minimum;
    std::int64_t maximum;
  };

  // Paths are board paths. Throws FileError where one of the files cannot be written.
  LimitPair(Sysroot& root, const std::string& minimum_path, const std::string& maximum_path)
      : minimum_(root, minimum_path), maximum_(root, maximum_path) {}

  // In the files' unit; nullopt with last_error() set where one cannot be read.
  std::optional<Limits> read();
  int last_error() const { return last_error_; }
  // Whether they are saved already, or could be.
  bool savable(const KnobJournal& journal) const {
    return journal.owned() || (journal.has(SavedRole::limit_max, maximum_.path) &&
                               journal.has(SavedRole::limit_min, minimum_.path));
  }
  // Saves both as they read now. Throws FileError where they cannot be read.
  void save(KnobJournal& journal);
  // Sets both to `value`: the maximum first where that raises it, else the minimum first, because
  // kernel 4.9 refuses a minimum above the maximum. Throws FileError.
  void pin(std::int64_t value);
  // Reads until both are `value`, or a few hundred times: newer kernels apply a limit in a worker.
  bool pinned(std::int64_t value);
  const std::string& shown_path() const { return maximum_.file.path(); }

 private:
  KnobFile minimum_;
  KnobFile maximum_;
  int last_error_ = 0;
};

// The value that a pair holds, given the one that was `wanted`: the limit that differs from it
// where the two differ, so that moving either is seen. In the limits' unit.
std::int64_t held(const LimitPair::Limits& limits, std::optional<std::int64_t> wanted);

}  // namespace gearshift
