#include "cli/recording_end.h"

namespace gearshift {

bool is_complete(const std::optional<std::string>& end) { return end == "complete"; }

std::string recording_end_text(const std::optional<std::string>& end) {
  if (!end) return "it has no end: the run was killed, or goes on";
  return is_complete(end) ? "it is complete" : "it ended before the run: " + *end;
}

}  // namespace gearshift
