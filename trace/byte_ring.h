// A queue of bytes between the loop, which must not wait, and the thread that writes them to disk.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>

namespace gearshift {

// One thread puts, one takes. What was put can be taken once it is published, so that the taker
// sees a tick whole or not at all. Never allocates after construction.
class ByteRing {
 public:
  // `capacity` is a power of two.
  explicit ByteRing(std::size_t capacity);

  // The putting thread. False, and nothing is put, where there is no room for all of it.
  bool put(std::span<const std::byte> first, std::span<const std::byte> second = {});
  void publish();
  // Takes back what was put since the last publish.
  void discard();
  // Published bytes that wait to be taken.
  std::size_t waiting() const;
  std::size_t capacity() const { return capacity_; }

  // The taking thread. False, and nothing is taken, where fewer bytes are published.
  bool take(std::span<std::byte> bytes);

 private:
  void copy_in(std::span<const std::byte> bytes);

  std::size_t capacity_;
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t put_ = 0;  // the putting thread's own
  std::atomic<std::size_t> published_{0};
  std::atomic<std::size_t> taken_{0};
};

}  // namespace gearshift
