#include "cli/policy_transfer.h"

#include "cli/powertrain_reference.h"

namespace gearshift {

ReferenceTransfer policy_transfer() {
  return ReferenceTransfer([] { return find_reference("", "").predictor; });
}

}  // namespace gearshift
