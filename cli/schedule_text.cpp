#include "cli/schedule_text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/note_text.h"

namespace gearshift {
namespace {

constexpr int kWeek = 7;
constexpr std::string_view kDays[kWeek] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

std::string time_text(Duration since_midnight) {
  const auto all_s = std::chrono::duration_cast<std::chrono::seconds>(since_midnight).count();
  std::string text = fmt::format("{:02}:{:02}", all_s / 3600, all_s / 60 % 60);
  if (all_s % 60 != 0) text += fmt::format(":{:02}", all_s % 60);
  return text;
}

std::string cap_of(const TimetableStep& step) {
  return step.power_mw ? exact_watts(*step.power_mw) : "no cap";
}

std::string begin_of(const PlacedStep& placed, int weekday) {
  const std::string time = time_text(placed.step.at);
  return placed.days == 0 ? time : fmt::format("{} {}", kDays[weekday % kWeek], time);
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// "CET-1CEST,M3.5.0,M10.5.0/3" or "<+03>-3": the rules themselves, by POSIX.
bool is_rule(std::string_view zone) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const std::size_t end =
      zone.starts_with('<')
          ? std::min(zone.size(), zone.find('>')) + 1
          : static_cast<std::size_t>(std::find_if_not(zone.begin(), zone.end(), letter) -
                                     zone.begin());
  constexpr std::size_t kShortestName = 3;
  if (end < kShortestName || end >= zone.size()) return false;
  return std::string_view("+-0123456789").find(zone[end]) != std::string_view::npos;
}

// A folder can be opened, too.
bool has_rules(const std::filesystem::path& file) {
  constexpr std::string_view kMagic = "TZif";
  char begin[kMagic.size()] = {};
  std::ifstream(file, std::ios::binary).read(begin, sizeof begin);
  return std::string_view(begin, sizeof begin) == kMagic;
}

}  // namespace

std::string schedule_text(std::span<const TimetableStep> steps, const LocalTime& now,
                          std::string_view zone) {
  std::string text = fmt::format(
      "schedule: it is {} {} {}", kDays[now.weekday],
      time_text(now.since_midnight - now.since_midnight % std::chrono::minutes(1)), zone);
  if (const auto held = step_in_force(steps, now)) {
    text += fmt::format("; {} since {}", cap_of(held->step),
                        begin_of(*held, now.weekday + kWeek - held->days));
  }
  if (const auto next = next_step(steps, now)) {
    text +=
        fmt::format(", {} from {}", cap_of(next->step), begin_of(*next, now.weekday + next->days));
  }
  return text;
}

std::string zone_objection() {
  const std::string given = environment("TZ");
  const std::string zone = given.substr(given.starts_with(':') ? 1 : 0);
  // UTC is what comes of a name without rules, and so is right for these.
  if (zone.empty() || zone == "UTC" || zone == "GMT" || is_rule(zone)) return {};
  const std::string folder = environment("TZDIR");
  const std::filesystem::path file =
      std::filesystem::path(folder.empty() ? "/usr/share/zoneinfo" : folder) / zone;
  if (has_rules(file)) return {};
  return fmt::format(
      "TZ '{}': {} has no time zone, so that the schedule would go by UTC; look for a slip in the "
      "name (timedatectl list-timezones), or install the package tzdata, which has the zones",
      given, file.string());
}

}  // namespace gearshift
