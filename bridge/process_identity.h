// Tells which process has a number: it may be another one's a moment later.
#pragma once

#include <cstdint>
#include <optional>

namespace gearshift {

struct ProcessIdentity {
  std::uint32_t user = 0;     // that it runs as, by its real and its effective id
  std::uint64_t started = 0;  // ticks of the kernel's clock since boot
  bool operator==(const ProcessIdentity&) const = default;
};

// From /proc; nullopt where there is no such process, or where its two users differ.
std::optional<ProcessIdentity> identify_process(std::int32_t pid);

}  // namespace gearshift
