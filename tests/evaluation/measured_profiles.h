// Profiles measured on real boards, for tests that are skipped where the folder is absent.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/sub_grid.h"
#include "tests/fakes/measured_data.h"
#include "trace/profile_csv.h"

namespace gearshift {

// The 441 modes of an AGX Orin that published searches were judged on.
inline KnobSpace sub_grid_of_441(KnobSpace knobs) {
  const std::map<std::string, std::vector<std::int64_t>> kept = {
      {"cpu_cores", {4, 8, 12}},
      {"cpu_mhz", {422'400, 729'600, 1'036'800, 1'344'000, 1'651'200, 1'958'400, 2'201'600}},
      {"gpu_mhz", {114'750, 318'750, 522'750, 726'750, 930'750, 1'134'750, 1'300'500}},
      {"mem_mhz", {665'600, 2'133'000, 3'199'000}}};
  for (Knob& knob : knobs.knobs) knob.values = kept.at(knob.name);
  return knobs;
}

// nullopt where the folder is absent.
inline std::optional<Profile> measured_profile(const std::string& name) {
  const std::filesystem::path path = measured_folder() / name;
  if (!std::filesystem::exists(path)) return std::nullopt;
  const Profile whole = read_profiles(path).at(0);
  return sub_grid(whole, sub_grid_of_441(whole.knobs()));
}

}  // namespace gearshift
