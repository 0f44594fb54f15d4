// Lines a script gave to log(), held in fixed space until somebody takes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "controller/event.h"

namespace gearshift {

inline constexpr std::size_t kLogLines = 64;
inline constexpr std::size_t kLogLineBytes = 200;

class LogLines {
 public:
  // Keeps the first kLogLineBytes bytes; control characters become '?', since lines end up on
  // terminals. A line that finds no place is counted instead.
  void add(std::string_view line) noexcept;
  // The oldest line; once lines were dropped, a last one that says how many; empty when none is
  // left.
  std::string take();

 private:
  std::array<BoundedText<kLogLineBytes>, kLogLines> lines_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace gearshift
