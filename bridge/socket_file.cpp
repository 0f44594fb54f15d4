#include "bridge/socket_file.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace gearshift {

int connect_code(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& text = path.native();
  if (text.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  text.copy(address.sun_path, text.size());
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return errno;
  const int result =
      ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int code = result == 0 ? 0 : errno;
  ::close(descriptor);
  return code;
}

bool listens(const std::filesystem::path& path) {
  const int code = connect_code(path);
  return code == 0 || code == EAGAIN || code == EMFILE || code == ENFILE;
}

}  // namespace gearshift
