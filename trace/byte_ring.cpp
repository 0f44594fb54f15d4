#include "trace/byte_ring.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace gearshift {

ByteRing::ByteRing(std::size_t capacity)
    : capacity_(capacity), bytes_(std::make_unique<std::byte[]>(capacity)) {
  assert(std::has_single_bit(capacity));
}

bool ByteRing::put(std::span<const std::byte> first, std::span<const std::byte> second) {
  const std::size_t free = capacity_ - (put_ - taken_.load(std::memory_order_acquire));
  if (first.size() + second.size() > free) return false;
  copy_in(first);
  copy_in(second);
  return true;
}

void ByteRing::copy_in(std::span<const std::byte> bytes) {
  const std::size_t at = put_ % capacity_;
  const std::size_t straight = std::min(bytes.size(), capacity_ - at);
  if (straight > 0) std::memcpy(bytes_.get() + at, bytes.data(), straight);
  const std::span<const std::byte> rest = bytes.subspan(straight);
  if (!rest.empty()) std::memcpy(bytes_.get(), rest.data(), rest.size());
  put_ += bytes.size();
}

void ByteRing::publish() { published_.store(put_, std::memory_order_release); }

void ByteRing::discard() { put_ = published_.load(std::memory_order_relaxed); }

std::size_t ByteRing::waiting() const {
  return published_.load(std::memory_order_acquire) - taken_.load(std::memory_order_acquire);
}

bool ByteRing::take(std::span<std::byte> bytes) {
  const std::size_t begin = taken_.load(std::memory_order_relaxed);
  if (published_.load(std::memory_order_acquire) - begin < bytes.size()) return false;
  const std::size_t at = begin % capacity_;
  const std::size_t straight = std::min(bytes.size(), capacity_ - at);
  if (straight > 0) std::memcpy(bytes.data(), bytes_.get() + at, straight);
  const std::span<std::byte> rest = bytes.subspan(straight);
  if (!rest.empty()) std::memcpy(rest.data(), bytes_.get(), rest.size());
  taken_.store(begin + bytes.size(), std::memory_order_release);
  return true;
}

}  // namespace gearshift
