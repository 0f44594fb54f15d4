#include "cli/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace gearshift {
namespace {

// 0, or the errno.
int read_all(int descriptor, std::string& text) {
  std::array<char, 65536> part;
  while (true) {
    const ssize_t size = read(descriptor, part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    if (size == 0) return 0;
    text.append(part.data(), static_cast<std::size_t>(size));
    if (text.size() > kMostTextBytes) return EFBIG;
  }
}

}  // namespace

std::optional<std::string> read_text_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::string text;
  const int failure = read_all(descriptor, text);
  close(descriptor);
  if (failure == 0) return text;
  errno = failure;
  return std::nullopt;
}

}  // namespace gearshift
