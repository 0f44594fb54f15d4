// The networks that scripts may use, from the user's own reference or the one that ships.
#pragma once

#include "policies/powertrain/reference_transfer.h"

namespace gearshift {

// Nothing is loaded until a script transfers.
ReferenceTransfer policy_transfer();

}  // namespace gearshift
