#include "bridge/endpoints.h"

#include <arpa/inet.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "bridge/socket_file.h"

namespace gearshift {
namespace {

constexpr std::string_view kSystemFolder = "/run/gearshift";
constexpr std::string_view kIpc = "ipc://";
constexpr std::string_view kTcp = "tcp://";
constexpr std::size_t kLongestPath = sizeof(sockaddr_un{}.sun_path) - 1;

std::string socket_in(const std::filesystem::path& folder, std::string_view name) {
  return std::string(kIpc) + (folder / name).string();
}

// Whether a folder is there and nobody but `user` and root can be who listens in it.
bool only_ours(const std::filesystem::path& folder, std::string_view name, std::uint32_t user) {
  struct stat status {};
  const auto ours = [&] { return status.st_uid == user || status.st_uid == 0; };
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  if (!ours() || (status.st_mode & kOthersWrite) != 0) return false;
  return ::lstat((folder / name).c_str(), &status) != 0 || ours();
}

// What stands before and after the last colon; both are empty where there is none.
struct Address {
  std::string_view host;
  std::string_view port;
};

Address split(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return {};
  return {address.substr(0, colon), address.substr(colon + 1)};
}

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0;
}

bool loopback(std::string_view address) {
  const std::string host(split(address).host);
  if (host == "[::1]") return true;
  in_addr parsed{};
  return ::inet_pton(AF_INET, host.c_str(), &parsed) == 1 && ntohl(parsed.s_addr) >> 24 == 127;
}

bool every_address(std::string_view host) {
  return host == "*" || host == "0.0.0.0" || host == "[::]";
}

std::filesystem::path place_of(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path place = std::filesystem::weakly_canonical(path, error);
  return error ? path.lexically_normal() : place;
}

// A port that the system chooses is another each time.
bool same_place(const std::string& one, const std::string& other) {
  if (is_tcp(one) && is_tcp(other)) {
    const Address first = split(std::string_view(one).substr(kTcp.size()));
    const Address second = split(std::string_view(other).substr(kTcp.size()));
    const bool same_port = is_port(first.port) && first.port == second.port;
    return same_port &&
           (first.host == second.host || every_address(first.host) || every_address(second.host));
  }
  const std::filesystem::path path = ipc_path(one);
  if (path.empty()) return one == other;
  return place_of(path) == place_of(ipc_path(other));
}

}  // namespace

std::filesystem::path runtime_folder_of(std::uint32_t user, const char* xdg_runtime_dir) {
  if (user == 0) return kSystemFolder;
  if (xdg_runtime_dir != nullptr && *xdg_runtime_dir != '\0') {
    return std::filesystem::path(xdg_runtime_dir) / "gearshift";
  }
  return "/tmp/gearshift-" + std::to_string(user);
}

std::filesystem::path runtime_folder() {
  return runtime_folder_of(::geteuid(), std::getenv("XDG_RUNTIME_DIR"));
}

std::string default_workload_endpoint() { return socket_in(runtime_folder(), "workloads.ipc"); }
std::string default_control_endpoint() { return socket_in(runtime_folder(), "control.ipc"); }

std::string control_endpoint_to_connect() {
  return control_endpoint_in(runtime_folder(), kSystemFolder, ::geteuid());
}

std::string control_endpoint_in(const std::filesystem::path& own,
                                const std::filesystem::path& system, std::uint32_t user) {
  constexpr std::string_view kName = "control.ipc";
  std::error_code ignored;
  if (own == system) return socket_in(own, kName);
  const bool ours = only_ours(own, kName, user);
  const bool in_system = std::filesystem::exists(system / kName, ignored);
  if (ours && std::filesystem::exists(own / kName, ignored)) {
    const bool is_own = !in_system || listens(own / kName);
    return socket_in(is_own ? own : system, kName);
  }
  if (in_system) return socket_in(system, kName);
  struct stat status {};
  if (!ours && ::lstat(own.c_str(), &status) == 0) {
    throw std::runtime_error(own.string() +
                             ": another user made it or may write to it, so that what listens "
                             "there may be no daemon: " +
                             way_around(status.st_uid, user));
  }
  // Where there is no folder anybody may make one, but not in /run.
  return socket_in(ours ? own : system, kName);
}

std::string way_around(std::uint32_t owner, std::uint32_t user) {
  if (owner == user || user == 0) return "remove it, or give other endpoints (--listen, --control)";
  return "where you cannot remove it, as in /tmp, set XDG_RUNTIME_DIR to a folder of yours, of the "
         "daemon and its clients alike, or give other endpoints (--listen, --control)";
}

bool is_tcp(const std::string& endpoint) { return endpoint.starts_with(kTcp); }
bool is_ipv6(const std::string& endpoint) { return endpoint.starts_with("tcp://["); }

bool reaches_other_machines(const std::string& endpoint) {
  return is_tcp(endpoint) && !loopback(std::string_view(endpoint).substr(kTcp.size()));
}

void require_endpoint(const std::string& endpoint) {
  const std::filesystem::path path = ipc_path(endpoint);
  if (path.native().size() > kLongestPath) {
    throw std::invalid_argument("endpoint " + endpoint + ": its path has " +
                                std::to_string(path.native().size()) + " bytes, and a socket's " +
                                std::to_string(kLongestPath) + " at most; give a shorter one");
  }
  if (!path.empty()) return;
  if (!is_tcp(endpoint)) {
    throw std::invalid_argument("endpoint '" + endpoint +
                                "': give ipc://PATH, tcp://127.0.0.1:PORT or tcp://[::1]:PORT");
  }
  const Address address = split(std::string_view(endpoint).substr(kTcp.size()));
  if (address.host.empty() || !is_port(address.port)) {
    throw std::invalid_argument("endpoint " + endpoint +
                                ": give a host and a port of 1 to 65535, for example "
                                "tcp://127.0.0.1:5555");
  }
}

void require_bindable(const std::string& endpoint, Keys keys) {
  if (endpoint.starts_with("ipc://@") || endpoint.starts_with("ipc://*")) {
    throw std::invalid_argument("endpoint " + endpoint +
                                ": a socket that is no file has no mode, so that every user of "
                                "this machine could connect; give ipc://PATH");
  }
  if (endpoint.starts_with("inproc://")) return;
  if (!(is_tcp(endpoint) && endpoint.ends_with(":*"))) require_endpoint(endpoint);
  if (endpoint.starts_with("tcp://localhost:")) {
    throw std::invalid_argument("endpoint " + endpoint +
                                ": a name is no address to listen at; give tcp://127.0.0.1:PORT");
  }
  if (keys == Keys::none && reaches_other_machines(endpoint)) {
    throw std::invalid_argument("endpoint " + endpoint +
                                ": other machines can reach it, so that it needs keys: make them "
                                "with gearshift keys server, let clients in with gearshift keys "
                                "client NAME; or give tcp://127.0.0.1:PORT or ipc://PATH");
  }
}

void require_two(const std::string& workloads, const std::string& control) {
  if (!same_place(workloads, control)) return;
  throw std::invalid_argument("--listen and --control are the same, " + control +
                              ": give each an endpoint of its own");
}

std::filesystem::path ipc_path(const std::string& endpoint) {
  return endpoint.starts_with(kIpc) ? endpoint.substr(kIpc.size()) : std::string();
}

}  // namespace gearshift
