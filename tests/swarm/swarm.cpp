// swarm [--seed N] [--scenarios N] [--hours H] [--log]: runs scenarios from seed N on, one after
// the other, each twice; prints what was violated and the command that shows it again. With --hours
// the trouble of each lasts that long, and one is run unless --scenarios says otherwise.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "tests/swarm/scenario.h"

namespace {

struct Options {
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> scenarios;
  double hours = 0;
  bool log = false;

  std::uint64_t count() const { return scenarios.value_or(hours > 0 ? 1 : 1000); }
  gearshift::Duration trouble() const {
    if (hours == 0) return gearshift::swarm::kTrouble;
    return gearshift::Duration(static_cast<std::int64_t>(hours * 3600e9));
  }
  // The flags that run one scenario again.
  std::string again(std::uint64_t seed_again) const {
    std::string flags = " --seed " + std::to_string(seed_again) + " --scenarios 1 --log";
    if (hours > 0) flags += " --hours " + std::to_string(hours);
    return flags;
  }
};

[[noreturn]] void refuse_usage() {
  std::fprintf(stderr,
               "usage: swarm [--seed N] [--scenarios N] [--hours H] [--log]\n"
               "  --seed N       the first scenario (1)\n"
               "  --scenarios N  how many (1000; with --hours 1)\n"
               "  --hours H      of virtual time that faults come in, up to 1000 (0.13)\n"
               "  --log          print every note\n");
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--seed" && i + 1 < argc) {
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--scenarios" && i + 1 < argc) {
      options.scenarios = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--hours" && i + 1 < argc) {
      options.hours = std::strtod(argv[++i], nullptr);
      if (!(options.hours > 0 && options.hours <= 1000)) refuse_usage();
    } else if (word == "--log") {
      options.log = true;
    } else {
      refuse_usage();
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::string scripts = GEARSHIFT_SOURCE_DIR "/scripts";
  std::uint64_t failed = 0;
  double longest_over_cap_s = 0;
  std::size_t settings = 0;
  std::uint64_t guard_steps = 0;
  double virtual_s = 0;
  std::size_t faults = 0;
  std::size_t told = 0;
  std::size_t rested = 0;
  for (std::uint64_t seed = options.seed; seed < options.seed + options.count(); ++seed) {
    gearshift::swarm::ScenarioResult result;
    try {
      result = gearshift::swarm::run_scenario(seed, scripts, options.trouble());
      const auto again = gearshift::swarm::run_scenario(seed, scripts, options.trouble());
      if (again.log != result.log) result.violations.push_back("a second run decides otherwise");
    } catch (const std::exception& error) {
      result.violations.push_back(std::string("exception: ") + error.what());
    }
    if (options.log) std::fputs(result.log.c_str(), stdout);
    longest_over_cap_s = std::max(longest_over_cap_s, result.longest_over_cap_s);
    settings += result.result.measured.size();
    faults += result.faults;
    told += result.told;
    rested += result.rested ? 1 : 0;
    guard_steps += result.result.guard_steps;
    virtual_s += gearshift::seconds(result.result.duration);
    if (result.violations.empty()) continue;
    ++failed;
    for (const std::string& violation : result.violations) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), violation.c_str());
    }
    std::printf("  again: %s%s\n", argv[0], options.again(seed).c_str());
  }
  std::printf(
      "%llu scenarios, %llu failed; %zu settings measured, %llu steps of the guard in %.1f hours "
      "of "
      "virtual time; at most %.1f s over a cap; %zu faults, %zu told where they must be; %zu "
      "waited part of the time\n",
      static_cast<unsigned long long>(options.count()), static_cast<unsigned long long>(failed),
      settings, static_cast<unsigned long long>(guard_steps), virtual_s / 3600, longest_over_cap_s,
      faults, told, rested);
  return failed == 0 ? 0 : 1;
}
