#include "cli/knob_values.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <string_view>

namespace gearshift {
namespace {

std::string all_values_text(const Knob& knob) {
  std::string text;
  for (const std::int64_t value : knob.values) {
    text += (text.empty() ? "" : ", ") + describe_value(knob.unit, value);
  }
  return text;
}

void check_any(const KnobSpace& knobs, const std::string& option) {
  if (knobs.knobs.empty()) {
    throw std::invalid_argument(
        fmt::format("{}: there are no knobs, since the table has no column of one", option));
  }
}

}  // namespace

std::size_t parse_knob(const KnobSpace& knobs, const std::string& option, const std::string& name) {
  check_any(knobs, option);
  if (const auto found = knobs.find(name)) return *found;
  std::string names;
  for (const Knob& knob : knobs.knobs) names += (names.empty() ? "" : ", ") + knob.name;
  throw std::invalid_argument(
      fmt::format("{}: there is no knob '{}'; those there are: {}", option, name, names));
}

KnobValues parse_knob_values(const KnobSpace& knobs, const std::string& option,
                             const std::string& text) {
  check_any(knobs, option);
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw std::invalid_argument(
        fmt::format("{}: give KNOB=VALUE, for example {}={}", option, knobs.knobs.front().name,
                    describe_value(knobs.knobs.front().unit, knobs.knobs.front().values.front())));
  }
  KnobValues parsed{.knob = parse_knob(knobs, option, text.substr(0, equals)), .values = {}};
  const Knob& knob = knobs.knobs[parsed.knob];
  const char* at = text.data() + equals + 1;
  const char* end = text.data() + text.size();
  while (true) {
    double number = 0;
    const auto [rest, error] = std::from_chars(at, end, number, std::chars_format::fixed);
    const std::int64_t value = std::llround(number * unit_scale(knob.unit));
    const bool is_value = std::binary_search(knob.values.begin(), knob.values.end(), value);
    if (error != std::errc() || (rest != end && *rest != ',') || !is_value) {
      throw std::invalid_argument(fmt::format("{}: '{}' is no value of {}, which has {}", option,
                                              std::string_view(at, end), knob.name,
                                              all_values_text(knob)));
    }
    parsed.values.push_back(value);
    if (rest == end) break;
    at = rest + 1;
  }
  std::sort(parsed.values.begin(), parsed.values.end());
  parsed.values.erase(std::unique(parsed.values.begin(), parsed.values.end()), parsed.values.end());
  return parsed;
}

}  // namespace gearshift
