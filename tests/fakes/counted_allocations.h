// Counts every allocation of the test program that includes it: one file a program may.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

namespace gearshift::fakes {
inline std::atomic<std::size_t> allocations{0};
}  // namespace gearshift::fakes

// The operators of a program can only be replaced by plain definitions.
// NOLINTBEGIN(misc-definitions-in-headers)
// Not inlined: g++ warns of a free() that it sees beside a new that it does not.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++gearshift::fakes::allocations;
  return std::malloc(size);
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
// NOLINTEND(misc-definitions-in-headers)
