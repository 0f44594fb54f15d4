#include "cli/outlet.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

namespace gearshift {
namespace {

// The flag that keeps a write from waiting belongs to all who share what was opened, a shell among
// them, so pipes and terminals are opened once more. Files stay at their place in the file, and a
// socket cannot be opened: there poll() alone has to do, which tells of a place for PIPE_BUF bytes.
int open_without_waiting(int descriptor) {
  struct stat status {};
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || fstat(descriptor, &status) != 0) return -1;
  if (!S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode)) return -1;
  return open(("/dev/fd/" + std::to_string(descriptor)).c_str(),
              O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

bool room(int descriptor, int timeout_ms) {
  pollfd place{.fd = descriptor, .events = POLLOUT, .revents = 0};
  return poll(&place, 1, timeout_ms) == 1;
}

}  // namespace

std::string gap_text(std::uint64_t lines) {
  return "left out: " + std::to_string(lines) + (lines == 1 ? " line" : " lines") +
         " that nobody read in time\n";
}

Outlet::Outlet(int descriptor, GapText gap)
    : descriptor_(descriptor), own_(open_without_waiting(descriptor)), gap_(std::move(gap)) {}

Outlet::~Outlet() {
  if (own_ >= 0) close(own_);
}

void Outlet::tell(std::string_view text) {
  std::string all = cut_ ? "\n" : "";
  if (left_out_ > 0) all += gap_(left_out_);
  all += text;
  if (write(all)) {
    left_out_ = 0;
  } else {
    left_out_ += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  }
}

void Outlet::show(std::string_view text) {
  if (left_out_ == 0 && !cut_) write(text);
}

bool Outlet::await_room(int timeout_ms) const { return room(descriptor_, timeout_ms); }

// False where not all of it was, for want of room, a reader or space on a disk.
bool Outlet::write(std::string_view text) {
  while (!text.empty() && (own_ >= 0 || room(descriptor_, 0))) {
    const std::size_t most = std::min<std::size_t>(text.size(), PIPE_BUF);
    const ssize_t size = ::write(target(), text.data(), most);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    cut_ = text.size() > static_cast<std::size_t>(size);
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return text.empty();
}

}  // namespace gearshift
