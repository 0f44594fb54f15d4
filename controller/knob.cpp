#include "controller/knob.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace gearshift {

std::string_view unit_name(Unit unit) {
  switch (unit) {
    case Unit::count:
      return "";
    case Unit::khz:
      return "MHz";
    case Unit::mw:
      return "W";
    case Unit::percent:
      return "%";
  }
  return "";
}

std::optional<std::size_t> KnobSpace::find(std::string_view name) const {
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    if (knobs[i].name == name) return i;
  }
  return std::nullopt;
}

bool KnobSpace::contains(const PowerMode& mode) const {
  if (mode.count != knobs.size()) return false;
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    if (!std::binary_search(knobs[i].values.begin(), knobs[i].values.end(), mode.values[i])) {
      return false;
    }
  }
  return true;
}

PowerMode KnobSpace::lowest() const {
  PowerMode mode;
  mode.count = static_cast<std::uint8_t>(knobs.size());
  for (std::size_t i = 0; i < knobs.size(); ++i) mode.values[i] = knobs[i].values.front();
  return mode;
}

PowerMode KnobSpace::highest() const {
  PowerMode mode;
  mode.count = static_cast<std::uint8_t>(knobs.size());
  for (std::size_t i = 0; i < knobs.size(); ++i) mode.values[i] = knobs[i].values.back();
  return mode;
}

std::size_t KnobSpace::mode_count() const {
  std::size_t count = 1;
  for (const Knob& knob : knobs) count *= knob.values.size();
  return count;
}

std::string describe_value(Unit unit, std::int64_t value) {
  char text[32];
  const auto [end, error] =
      std::to_chars(text, text + sizeof text, static_cast<double>(value) / unit_scale(unit),
                    std::chars_format::fixed);
  return error == std::errc() ? std::string(text, end) : std::to_string(value);
}

std::string KnobSpace::describe(const PowerMode& mode) const {
  std::string text;
  for (std::size_t i = 0; i < knobs.size() && i < mode.count; ++i) {
    if (!text.empty()) text += ' ';
    text += knobs[i].name + '=' + describe_value(knobs[i].unit, mode.values[i]);
  }
  return text;
}

}  // namespace gearshift
