// How long a policy may think: an input of a run like a reading, so that a recording can tell it.
#pragma once

namespace gearshift {

class ThinkTime {
 public:
  virtual ~ThinkTime() = default;
  // The policy begins to think: it was started, or a measurement answered its question.
  virtual void begin() = 0;
  // True once it has thought too long; it fails then. Asked at places that follow from what the
  // policy has done alone, so that the same run asks equally often.
  virtual bool over() = 0;
};

}  // namespace gearshift
