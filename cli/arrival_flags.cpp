#include "cli/arrival_flags.h"

#include <spdlog/fmt/fmt.h>

#include <stdexcept>
#include <vector>

#include "cli/flag_value.h"
#include "cli/units.h"
#include "trace/arrival_csv.h"

namespace gearshift {
namespace {

constexpr double kLeastRate = 1e-3;  // on average: a request in a quarter of an hour
constexpr double kMostRate = 1e6;
constexpr std::size_t kMostBursts = 64;

[[noreturn]] void fail(const std::string& text, const std::string& why) {
  throw std::invalid_argument(fmt::format("arrivals '{}': {}; give {}", text, why, kArrivalForms));
}

std::string named(const std::string& text) { return "--arrivals '" + text + "'"; }

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

double rate_of(const std::string& text, const std::string& part) {
  const double rate = part == "0" ? 0 : flag_value(named(text), part, parse_rate);
  if (rate > kMostRate) fail(text, fmt::format("a rate of {} is above a million a second", part));
  return rate;
}

// "x3@150s+30s"
Burst burst_of(const std::string& text, const std::string& part) {
  const std::size_t at = part.find('@');
  const std::size_t plus = part.find('+', at == std::string::npos ? 0 : at);
  if (part.front() != 'x' || at == std::string::npos || plus == std::string::npos) {
    fail(text, fmt::format("'{}' is no burst", part));
  }
  Burst burst;
  burst.factor = rate_of(text, part.substr(1, at - 1));
  burst.begin =
      Time{} + flag_value(named(text), part.substr(at + 1, plus - at - 1), parse_duration);
  burst.length = flag_value(named(text), part.substr(plus + 1), parse_duration);
  return burst;
}

void take_two_rates(const std::string& text, const std::vector<std::string>& parts,
                    ArrivalSpec& spec) {
  spec.rate_per_s = rate_of(text, parts[0]);
  spec.highest_rate_per_s = rate_of(text, parts[1]);
  spec.period = flag_value(named(text), parts[2], parse_duration);
  if (spec.highest_rate_per_s < spec.rate_per_s) fail(text, "the higher rate comes second");
  if (spec.period < std::chrono::milliseconds(100)) fail(text, "the time must be 100ms or more");
}

}  // namespace

ArrivalSpec parse_arrivals(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string pattern = text.substr(0, colon);
  const bool two = pattern == "mmpp" || pattern == "day";
  const std::size_t needed = two ? 3 : pattern == "trace" ? 2 : 1;
  if (colon == std::string::npos || (!two && pattern != "poisson" && pattern != "trace")) {
    fail(text, "no such pattern");
  }
  const std::vector<std::string> parts = split(text.substr(colon + 1));
  if (parts.size() < needed || parts.size() > needed + kMostBursts) {
    fail(text, fmt::format("{} has {} parts, at most {} bursts behind them", pattern, needed,
                           kMostBursts));
  }
  for (const std::string& part : parts) {
    if (part.empty()) fail(text, "a part is empty");
  }
  ArrivalSpec spec;
  if (two) {
    spec.pattern = pattern == "mmpp" ? ArrivalPattern::mmpp : ArrivalPattern::day;
    take_two_rates(text, parts, spec);
  } else {
    spec.rate_per_s = rate_of(text, parts[needed - 1]);
  }
  if (pattern == "trace") {
    spec.pattern = ArrivalPattern::trace;
    spec.times = read_arrival_times(parts.front());
  }
  for (std::size_t i = needed; i < parts.size(); ++i) {
    spec.bursts.push_back(burst_of(text, parts[i]));
  }
  const double mean = spec.mean_rate_per_s();
  if (mean <= 0) {
    throw std::invalid_argument(named(text) + ": no requests come; give a rate above 0");
  }
  if (mean < kLeastRate) {
    fail(text, fmt::format("{:.4g} requests a second come, below {}", mean, kLeastRate));
  }
  const double peak = spec.peak_rate_per_s();
  if (!(peak <= kMostRate)) {
    fail(text, fmt::format("with the bursts {:.4g} requests a second come, above a million", peak));
  }
  return spec;
}

}  // namespace gearshift
