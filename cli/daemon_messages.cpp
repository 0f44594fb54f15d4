#include "cli/daemon_messages.h"

#include <cstdio>

#include "cli/tell.h"
#include "controller/printable_text.h"

namespace gearshift {

void DaemonMessages::tell(const std::string& workload, std::string message) {
  if (message.empty()) return;
  hide_unprintable(message);
  const std::string line = workload + ": " + message;
  if (told_.size() >= kMost || !told_.insert(line).second) return;
  gearshift::tell(stderr, "gearshift {}: {}\n", command_, line);
}

}  // namespace gearshift
