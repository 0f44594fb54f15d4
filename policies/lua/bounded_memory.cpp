#include "policies/lua/bounded_memory.h"

#include <algorithm>
#include <cstdlib>
#include <lua.hpp>

namespace gearshift {
namespace {

// Lua answers a refusal with a full collection (a millisecond for 1 MiB) and asks again. A script
// that lives at the edge of its memory would collect at every step: after so many it ends instead.
constexpr int kMaxRefusals = 32;

static_assert(kMostListEntries == 4096 && kMostNames == 2048, "a message has them");

}  // namespace

bool BoundedMemory::refuses(bool is_string, std::size_t old_bytes, std::size_t new_bytes) {
  if (new_bytes <= old_bytes) return false;  // Lua counts on shrinking
  // A string's block has a header; 64 bytes cover it.
  if (is_string && new_bytes > limits_.string_bytes + 64) {
    refusal_ = "a string longer than a script may make";
  } else if (new_bytes > limits_.block_bytes) {
    refusal_ =
        "a table or a call stack larger than a script may have: a list has at most 4096 entries, a "
        "table 2048 names; look at modes[i] in place, or keep positions in several lists";
  } else if (used_bytes_ - old_bytes + new_bytes > limits_.memory_bytes ||
             refusals_ > kMaxRefusals) {
    refusal_ = "all the memory a script may use is in use";
  } else {
    return false;
  }
  ++refusals_;
  return true;
}

void* BoundedMemory::allocate(void* memory, void* block, std::size_t old_bytes,
                              std::size_t new_bytes) {
  BoundedMemory& self = *static_cast<BoundedMemory*>(memory);
  // For a new block Lua passes the kind of object in place of the old size.
  const bool is_string = block == nullptr && old_bytes == LUA_TSTRING;
  if (block == nullptr) old_bytes = 0;
  if (new_bytes == 0) {
    std::free(block);
    self.used_bytes_ -= old_bytes;
    return nullptr;
  }
  if (self.refuses(is_string, old_bytes, new_bytes)) return nullptr;
  void* moved = std::realloc(block, new_bytes);
  if (moved == nullptr) return nullptr;
  self.used_bytes_ += new_bytes - old_bytes;
  self.peak_bytes_ = std::max(self.peak_bytes_, self.used_bytes_);
  return moved;
}

}  // namespace gearshift
