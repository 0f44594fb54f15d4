// Where the C++ client looks for the daemon, by bridge/PROTOCOL.md's rules.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

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

// The first of the two folders that has a socket, empty: none. There is nothing to connect to
// before there is a folder, since anybody may make one in /tmp. `trouble` becomes what people
// should know.
inline std::string endpoint_in(const std::string& own, const std::string& system, uid_t user,
                               std::string& trouble) {
  const auto listens = [](const std::string& folder) {
    return ::access((folder + kSocketName).c_str(), F_OK) == 0;
  };
  if (own != system) {  // what is in /run only root made
    trouble = distrust(own, user);
    if (trouble.empty() && listens(own)) return "ipc://" + own + kSocketName;
  }
  return listens(system) ? "ipc://" + system + kSocketName : std::string();
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
