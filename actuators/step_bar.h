// Keeps a guardian's step to the safe mode apart from knobs that are being put back: what is put
// back is forgotten, so that a step that wrote behind it would stay for good.
#pragma once

#include <chrono>
#include <filesystem>

namespace gearshift {

// Both are locks of bytes of `<journal>.step`, which end with the process that has them, so that
// nobody is barred by the dead. Neither throws: where there can be no such file, the knobs are put
// back and the safe mode is set all the same.

// How long a bar waits for a step that goes on, which ends once its write has.
constexpr std::chrono::milliseconds kStepPatience = std::chrono::seconds(2);
// The same, of a process that does nothing but put back.
constexpr std::chrono::milliseconds kLastStepPatience = std::chrono::seconds(10);

// No step is begun while one lives; there may be several. For whoever ends with the knobs.
class StepBar {
 public:
  explicit StepBar(const std::filesystem::path& journal,
                   std::chrono::milliseconds patience = kStepPatience);
  ~StepBar();
  StepBar(const StepBar&) = delete;
  StepBar& operator=(const StepBar&) = delete;

  // False while a step goes on all the same: a write of it does not return, and changes the board
  // when it does, whatever was put back meanwhile.
  bool clear() const;

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

  // Asked before each knob is written. False where another one steps, a bar is up, or there is no
  // journal: no knob was written yet, or all were put back.
  bool allowed() const;

 private:
  const std::filesystem::path journal_;
  int descriptor_ = -1;
  bool alone_ = true;  // no other process steps
};

}  // namespace gearshift
