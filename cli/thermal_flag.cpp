#include "cli/thermal_flag.h"

#include <spdlog/fmt/fmt.h>

#include <stdexcept>
#include <utility>

#include "cli/flag_value.h"
#include "cli/units.h"

namespace gearshift {
namespace {

// What a zone is to stay below where it would be slowed down: sensors step, models err, and gusts
// of load are faster than a mean over a second.
constexpr double kMarginC = 3;

// "shows -263200 (milli-degrees)", for people.
std::string told_by(const Reading& reading) {
  if (reading.state == ReadingState::off) return "is powered down";
  if (reading.state == ReadingState::missing) return "cannot be read";
  return fmt::format("shows {} (milli-degrees)", reading.value);
}

}  // namespace

// A board that is taken where no other fits knows of no machine in particular.
ZoneNames zone_names(const BoardDescription& board) {
  return board.compatible.empty() ? ZoneNames::guessed : ZoneNames::known;
}

ThermalPlan make_thermal_plan(const std::string& text) {
  if (text == "auto") return {};
  if (text == "off") return {.off = true};
  return {.limit_c =
              flag_value("--thermal (auto, off or a temperature)", text, parse_temperature_c)};
}

std::unique_ptr<ThermalLimit> make_thermal_limit(const ThermalPlan& plan, ZoneNames names,
                                                 std::span<const ThermalZone> zones,
                                                 std::vector<std::string>& findings) {
  if (plan.off) return nullptr;
  if (plan.limit_c && zones.empty()) {
    throw std::invalid_argument(fmt::format(
        "--thermal {:g}C: nothing here reads a temperature (of the thermal zones that the board's "
        "file names there is none); leave it out, and the board has only what it does by itself "
        "against heat",
        *plan.limit_c));
  }
  ThermalLimitOptions options;
  for (const ThermalZone& zone : zones) {
    std::optional<double> limit_c = plan.limit_c;
    if (!limit_c && zone.throttled_mc) {
      limit_c = static_cast<double>(*zone.throttled_mc) / 1000 - kMarginC;
    }
    if (!limit_c) {
      findings.push_back(
          fmt::format("thermal: zone {} has no trip points: not guarded; "
                      "--thermal 80C gives it a limit",
                      zone.type));
      continue;
    }
    const bool may_be_dummy = !plan.limit_c && names == ZoneNames::guessed;
    std::string kept = fmt::format("thermal: zone {} is kept below {:.1f} C", zone.type, *limit_c);
    if (may_be_dummy && !tells_temperature(zone.at_open)) {
      kept += fmt::format(" once it tells a temperature, and is not guarded until then: it {}",
                          told_by(zone.at_open));
    }
    findings.push_back(std::move(kept));
    options.zones.push_back({zone.channel, *limit_c, zone.type, may_be_dummy});
  }
  if (options.zones.empty()) return nullptr;
  return std::make_unique<ThermalLimit>(std::move(options));
}

}  // namespace gearshift
