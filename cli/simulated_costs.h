// Where the costs of a simulation come from: a profile, a recording or the board's model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "cli/profile_files.h"
#include "controller/profile.h"
#include "simulator/cost_source.h"

namespace gearshift {

// Which profile a workload's costs are. What is empty may be any.
struct WantedProfile {
  Kind kind = Kind::train;
  std::string workload;
  std::vector<std::string> devices;  // names of one, its id last: decides where several fit
};

// The one profile that is wanted, in the file `profile`, or in the recording `trace` where that is
// given. Throws std::invalid_argument that names those there are, and what ProfileFiles throws.
std::unique_ptr<Profile> select_profile(ProfileFiles& files, const std::string& profile,
                                        const std::string& trace, const WantedProfile& wanted);

// The costs by the board's model that fill the gaps of `profile`: of the workload `model`, or of
// the profile's name where that is empty. Borrows both. Throws as require_workload.
std::unique_ptr<CostSource> filling_costs(const BoardDescription& board, const Profile& profile,
                                          const std::string& model);

// Of a workload that trains beside inference: 16 where it was measured with that, else the least.
std::int32_t usual_train_batch(const std::vector<std::int32_t>& batch_sizes);

// The knobs with the values that both were measured with. Throws std::runtime_error where the two
// cannot run on one board, and says why.
KnobSpace common_knobs(const Profile& train, const Profile& infer);

}  // namespace gearshift
