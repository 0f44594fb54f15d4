// The measured tables that a policy may read, from the files named by --prior.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/profile.h"

namespace gearshift {

// File after file; none is null. Throws what read_profiles throws.
std::vector<std::unique_ptr<Profile>> read_prior_tables(const std::vector<std::string>& files);

// The same tables as the loop takes them.
std::vector<const Profile*> borrowed(const std::vector<std::unique_ptr<Profile>>& tables);

}  // namespace gearshift
