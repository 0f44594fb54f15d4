// What the start says of a schedule that goes by the clock on the wall: where that is not the clock
// that people meant, nothing else shows it before a step comes at the wrong hour.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "limits/timetable.h"

namespace gearshift {

// "schedule: it is Sun 06:17 CET; 15 W since 05:57, 28 W from 22:00", with the day where it is not
// today. There must be steps.
std::string schedule_text(std::span<const TimetableStep> steps, const LocalTime& now,
                          std::string_view zone);

// What is wrong with TZ, and the way out: it names a zone whose rules are not there, and the C
// library takes UTC without a word. Empty where nothing is.
std::string zone_objection();

}  // namespace gearshift
