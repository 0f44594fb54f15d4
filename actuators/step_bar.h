// Keeps a guardian's step to the safe mode apart from knobs that are being put back: what is put
// back is forgotten, so that a step that wrote behind it would stay for good.
#pragma once

#include <filesystem>

namespace gearshift {

// Both are locks of bytes of `<journal>.step`, which end with the process that has them, so that
// nobody is barred by the dead. Neither throws: where there can be no such file, the knobs are put
// back and the safe mode is set all the same.

// No step is made while one lives; there may be several. For whoever ends with the knobs.
class StepBar {
 public:
  // Waits up to 2 s for a step that goes on, which ends at its next write.
  explicit StepBar(const std::filesystem::path& journal);
  ~StepBar();
  StepBar(const StepBar&) = delete;
  StepBar& operator=(const StepBar&) = delete;

 private:
  int descriptor_ = -1;
};

// A step to the safe mode, made beside the process that has the journal.
class Step {
 public:
  explicit Step(const std::filesystem::path& journal);
  ~Step();
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // Asked before each write. False where another one steps, a bar is up, or there is no journal:
  // no knob was written yet, or all were put back.
  bool allowed() const;

 private:
  const std::filesystem::path journal_;
  int descriptor_ = -1;
  bool alone_ = true;  // no other process steps
};

}  // namespace gearshift
