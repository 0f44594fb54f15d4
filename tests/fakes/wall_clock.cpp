// Preloaded into a program, moves the clock on the wall (CLOCK_REALTIME) by the seconds that the
// file $WALL_CLOCK_OFFSET holds as a binary integer, while it runs. The other clocks are left
// alone, as they are by somebody who sets the time.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

using ClockGettime = int (*)(clockid_t, timespec*);
using Gettimeofday = int (*)(timeval*, void*);

const std::atomic<std::int64_t>* offset() {
  static const auto* const page = []() -> const std::atomic<std::int64_t>* {
    const char* const path = std::getenv("WALL_CLOCK_OFFSET");
    const int descriptor = path != nullptr ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (descriptor < 0) return nullptr;
    void* const mapped = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, descriptor, 0);
    close(descriptor);
    return mapped != MAP_FAILED ? static_cast<const std::atomic<std::int64_t>*>(mapped) : nullptr;
  }();
  return page;
}

std::int64_t offset_s() { return offset() != nullptr ? offset()->load() : 0; }

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) {
  static const auto real = reinterpret_cast<ClockGettime>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, now);
  if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += offset_s();
  return result;
}

int gettimeofday(timeval* now, void* zone) {
  static const auto real = reinterpret_cast<Gettimeofday>(dlsym(RTLD_NEXT, "gettimeofday"));
  const int result = real(now, zone);
  if (result == 0) now->tv_sec += offset_s();
  return result;
}

time_t time(time_t* now) {
  timespec read{};
  clock_gettime(CLOCK_REALTIME, &read);
  if (now != nullptr) *now = read.tv_sec;
  return read.tv_sec;
}
}
