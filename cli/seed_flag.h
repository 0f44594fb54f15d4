// --seed, as every command that draws random numbers takes it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>

namespace gearshift {

// Up to what a config file can hold too; -1 is not taken for the greatest of all.
inline void add_seed_flag(CLI::App& command, std::uint64_t& seed, const std::string& text) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  command.add_option("--seed", seed, text)
      ->check(CLI::Range(std::uint64_t{0}, kMost))
      ->capture_default_str();
}

}  // namespace gearshift
