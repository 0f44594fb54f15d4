// The allocator of one Lua state: counts every byte and refuses what is over the limits.
#pragma once

#include <cstddef>

#include "policies/lua/lua_limits.h"

namespace gearshift {

class BoundedMemory {
 public:
  explicit BoundedMemory(const LuaLimits& limits) : limits_(limits) {}
  BoundedMemory(const BoundedMemory&) = delete;
  BoundedMemory& operator=(const BoundedMemory&) = delete;

  // The lua_Alloc function; `memory` is a BoundedMemory.
  static void* allocate(void* memory, void* block, std::size_t old_bytes, std::size_t new_bytes);

  // Forgives the refusals so far.
  void new_answer() { refusals_ = 0; }
  std::size_t peak_bytes() const { return peak_bytes_; }
  // Why the last refusal was made; never empty after one.
  const char* refusal() const { return refusal_; }

 private:
  bool refuses(bool is_string, std::size_t old_bytes, std::size_t new_bytes);

  const LuaLimits& limits_;
  std::size_t used_bytes_ = 0;
  std::size_t peak_bytes_ = 0;
  int refusals_ = 0;
  const char* refusal_ = "";
};

}  // namespace gearshift
