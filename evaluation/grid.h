// A grid of cases: every policy on every workload, under every problem, with every seed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "evaluation/optimum_table.h"

namespace gearshift {

// A policy that is compared: its name in tables, its text, and the file name by which the text
// knows itself.
struct Contestant {
  std::string name;
  std::string text;
  std::string script;
};

// A workload that policies are tried on: its name in tables and what its settings truly cost.
struct Target {
  std::string name;
  OptimumTable optimum;
  // A fingerprint of what else runs there and is not in `optimum`; 0: nothing does.
  std::uint64_t beside = 0;
  // How many of its profile's settings were not measured but filled, and from what, as "from the
  // nearest cell".
  std::size_t filled = 0;
  std::string filled_from{};
};

// "500 measured settings, 1705 filled from the nearest cell": of so many settings of the target.
std::string settings_text(const Target& target, std::size_t settings);

// Indices into the vectors of a Grid.
struct Case {
  std::size_t policy = 0;
  std::size_t workload = 0;
  std::size_t problem = 0;
  std::size_t seed = 0;
};

struct Grid {
  std::vector<Contestant> policies;
  std::vector<Target> workloads;
  std::vector<Problem> problems;
  std::vector<std::uint64_t> seeds;
  // Whatever else decides how a case ends: effects, limits of a search, priors, the program.
  std::string conditions;

  // Whether some workload has settings that were filled.
  bool has_filled() const {
    return std::any_of(workloads.begin(), workloads.end(),
                       [](const Target& one) { return one.filled > 0; });
  }
  std::size_t size() const {
    return policies.size() * workloads.size() * problems.size() * seeds.size();
  }
  // Seeds change first, then problems, then workloads, then policies.
  Case at(std::size_t index) const;
};

// One number a case, the same only while everything that decides how the case ends is the same:
// policy, profile and what runs beside it, problem, seed and conditions.
class CaseKeys {
 public:
  explicit CaseKeys(const Grid& grid);
  std::uint64_t key(const Case& one) const;

 private:
  const Grid& grid_;
  std::vector<std::uint64_t> policies_;
  std::vector<std::uint64_t> workloads_;
};

}  // namespace gearshift
