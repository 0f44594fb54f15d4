// What a run's notes tell whoever explains it.
#pragma once

#include <vector>

#include "controller/rationale.h"
#include "tests/fakes/fake_world.h"

namespace gearshift::fakes {

inline void tell(Rationale& rationale, const std::vector<KeptNote>& notes) {
  for (const KeptNote& kept : notes) {
    rationale.note({.type = kept.type,
                    .time = kept.time,
                    .value = kept.value,
                    .setting = &kept.setting,
                    .observation = kept.observation ? &*kept.observation : nullptr,
                    .text = kept.text});
  }
}

}  // namespace gearshift::fakes
