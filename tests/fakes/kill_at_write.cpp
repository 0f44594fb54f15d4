// Preloaded into a program, kills it with SIGKILL in place of its write number $KILL_AT_WRITE to a
// file below $KILL_BELOW. Only the process that loaded it counts, not its children.
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using Write = ssize_t (*)(int, const void*, size_t);
using Pwrite = ssize_t (*)(int, const void*, size_t, off64_t);

const pid_t kLoadedBy = getpid();
std::atomic<long> writes_seen{0};

bool counts(int descriptor) {
  const char* const top = std::getenv("KILL_BELOW");
  if (top == nullptr || getpid() != kLoadedBy) return false;
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = readlink(link.c_str(), path, sizeof path);
  return length > 0 && std::string_view(path, static_cast<size_t>(length)).starts_with(top);
}

void count(int descriptor) {
  const char* const number = std::getenv("KILL_AT_WRITE");
  if (number == nullptr || !counts(descriptor)) return;
  if (++writes_seen == std::strtol(number, nullptr, 10)) kill(getpid(), SIGKILL);
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static const auto real = reinterpret_cast<Write>(dlsym(RTLD_NEXT, "write"));
  count(descriptor);
  return real(descriptor, bytes, size);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t at) {
  static const auto real = reinterpret_cast<Pwrite>(dlsym(RTLD_NEXT, "pwrite64"));
  count(descriptor);
  return real(descriptor, bytes, size, at);
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t at) {
  return pwrite(descriptor, bytes, size, at);
}
}
