// Where the C++ client looks for the daemon, by bridge/PROTOCOL.md's rules.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace gearshift::client::detail {

inline constexpr char kSocketName[] = "/workloads.ipc";

// Whether its address is an IPv6 one. libzmq takes none before it is told to, and looks names up
// otherwise then.
inline bool is_ipv6(const std::string& endpoint) { return endpoint.rfind("tcp://[", 0) == 0; }

// Why another user may be who listens in this folder, for people; empty: nobody else can.
inline std::string distrust(const std::string& folder, uid_t user) {
  const auto ours = [user](const struct stat& status) {
    return status.st_uid == user || status.st_uid == 0;
  };
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) return {};
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  bool trusted = S_ISDIR(status.st_mode) && ours(status) && (status.st_mode & kOthersWrite) == 0;
  if (trusted && ::lstat((folder + kSocketName).c_str(), &status) == 0) trusted = ours(status);
  if (trusted) return {};
  return folder +
         ": another user made it or may write to it, so that no daemon is looked for there";
}

// The user's own folder, where no program's endpoint and no variable names another.
inline std::string own_folder(uid_t user, const char* xdg_runtime_dir, const std::string& system) {
  if (user == 0) return system;
  if (xdg_runtime_dir != nullptr && *xdg_runtime_dir != '\0') {
    return std::string(xdg_runtime_dir) + "/gearshift";
  }
  return "/tmp/gearshift-" + std::to_string(user);
}

// Whether connect() to the socket file is taken now, or waits since the queue of who listens is
// full: one that a killed daemon left refuses. True too where this process may open no socket to
// ask by.
inline bool listens(const std::string& path) {
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path) return false;
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return true;
  const auto* const where = reinterpret_cast<const sockaddr*>(&address);
  const bool taken = ::connect(descriptor, where, sizeof address) == 0 || errno == EAGAIN;
  ::close(descriptor);
  return taken;
}

// The first of the two folders that has a socket on which somebody listens, empty: none has one.
// There is nothing to connect to before there is a folder, since anybody may make one in /tmp.
// Where one folder alone has a socket, that is taken: its daemon may be about to listen. `trouble`
// becomes what people should know.
inline std::string endpoint_in(const std::string& own, const std::string& system, uid_t user,
                               std::string& trouble) {
  const auto there = [](const std::string& folder) {
    return ::access((folder + kSocketName).c_str(), F_OK) == 0;
  };
  const bool in_system = there(system);
  if (own != system) {  // what is in /run only root made
    trouble = distrust(own, user);
    const bool in_own = trouble.empty() && there(own);
    if (in_own && (!in_system || listens(own + kSocketName))) return "ipc://" + own + kSocketName;
  }
  return in_system ? "ipc://" + system + kSocketName : std::string();
}

// The endpoint to connect to, empty where there is none now; looked up again at each call.
inline std::string find_endpoint(const std::string& given, std::string& trouble) {
  if (!given.empty()) return given;
  const char* variable = std::getenv("GEARSHIFT_ENDPOINT");
  if (variable != nullptr && *variable != '\0') return variable;
  const std::string system = "/run/gearshift";
  const uid_t user = ::geteuid();
  return endpoint_in(own_folder(user, std::getenv("XDG_RUNTIME_DIR"), system), system, user,
                     trouble);
}

}  // namespace gearshift::client::detail
