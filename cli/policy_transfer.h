// The networks that scripts may use, from the user's own reference or the one that ships.
#pragma once

#include <cstdint>

#include "policies/powertrain/reference_transfer.h"

namespace gearshift {

// Nothing is loaded until a script transfers.
ReferenceTransfer policy_transfer();
// Of the file that it loads; 0 where it would take the reference that ships.
std::uint64_t reference_fingerprint();

}  // namespace gearshift
