// swarm [--seed N] [--scenarios N] [--log]: runs scenarios from seed N on, one after the other,
// each twice; prints what was violated and the command that shows it again.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "tests/swarm/scenario.h"

namespace {

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t scenarios = 1000;
  bool log = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--seed" && i + 1 < argc) {
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--scenarios" && i + 1 < argc) {
      options.scenarios = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--log") {
      options.log = true;
    } else {
      std::fprintf(stderr, "usage: swarm [--seed N] [--scenarios N] [--log]\n");
      std::exit(2);
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
  for (std::uint64_t seed = options.seed; seed < options.seed + options.scenarios; ++seed) {
    gearshift::swarm::ScenarioResult result;
    try {
      result = gearshift::swarm::run_scenario(seed, scripts);
      const auto again = gearshift::swarm::run_scenario(seed, scripts);
      if (again.log != result.log) result.violations.push_back("a second run decides otherwise");
    } catch (const std::exception& error) {
      result.violations.push_back(std::string("exception: ") + error.what());
    }
    if (options.log) std::fputs(result.log.c_str(), stdout);
    longest_over_cap_s = std::max(longest_over_cap_s, result.longest_over_cap_s);
    settings += result.result.measured.size();
    guard_steps += result.result.guard_steps;
    virtual_s += gearshift::seconds(result.result.duration);
    if (result.violations.empty()) continue;
    ++failed;
    for (const std::string& violation : result.violations) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), violation.c_str());
    }
    std::printf("  again: %s --seed %llu --scenarios 1 --log\n", argv[0],
                static_cast<unsigned long long>(seed));
  }
  std::printf(
      "%llu scenarios, %llu failed; %zu settings measured, %llu steps of the guard in %.1f hours "
      "of "
      "virtual time; at most %.1f s over a cap\n",
      static_cast<unsigned long long>(options.scenarios), static_cast<unsigned long long>(failed),
      settings, static_cast<unsigned long long>(guard_steps), virtual_s / 3600, longest_over_cap_s);
  return failed == 0 ? 0 : 1;
}
