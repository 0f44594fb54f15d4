#include "cli/policy_transfer.h"

#include "cli/powertrain_reference.h"
#include "cli/text_file.h"
#include "evaluation/fingerprint.h"

namespace gearshift {

ReferenceTransfer policy_transfer() {
  return ReferenceTransfer([] { return find_reference("", "").predictor; });
}

std::uint64_t reference_fingerprint() {
  const auto own = own_reference("");
  if (!own) return 0;
  return Fingerprint().add(read_text_file(own->string()).value_or("")).value();
}

}  // namespace gearshift
