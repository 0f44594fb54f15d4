// Where the daemon's sockets are, where none is given.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace gearshift {

// /run/gearshift as root (user 0), else $XDG_RUNTIME_DIR/gearshift, else /tmp/gearshift-UID.
// `xdg_runtime_dir` may be null or empty: not set.
std::filesystem::path runtime_folder_of(std::uint32_t user, const char* xdg_runtime_dir);
// This process's own.
std::filesystem::path runtime_folder();

// What the daemon binds: ipc sockets in the runtime folder.
std::string default_workload_endpoint();
std::string default_control_endpoint();

// What an operator's program connects to: the runtime folder's socket, or the one in /run/gearshift
// (of a daemon that root started) where only that one exists, or nobody listens on the other, which
// a killed daemon left. Throws std::runtime_error where there is
// none but one in a folder that another user may have made.
std::string control_endpoint_to_connect();
// The same where the two folders and the user are these.
std::string control_endpoint_in(const std::filesystem::path& own,
                                const std::filesystem::path& system, std::uint32_t user);

// What `user` can do where a runtime folder belongs to `owner`: who may not remove it keeps away.
std::string way_around(std::uint32_t owner, std::uint32_t user);

// Whether other machines can reach it: tcp:// on anything but a loopback address.
bool reaches_other_machines(const std::string& endpoint);
bool is_tcp(const std::string& endpoint);
// Whether its address is an IPv6 one. libzmq takes none before it is told to, and looks names up
// otherwise then.
bool is_ipv6(const std::string& endpoint);

enum class Keys : std::uint8_t { none, required };

// Throws std::invalid_argument with the way out unless `endpoint` is one to be given: ipc:// with a
// path that a socket can have, or tcp://HOST:PORT with a port of 1 to 65535. (libzmq takes of a
// port the digits and the 16 bits that it can use, and listens elsewhere.)
void require_endpoint(const std::string& endpoint);

// Throws std::invalid_argument with the way out unless `endpoint` may be bound: ipc:// with the
// path of a file or tcp:// on a loopback address, and any tcp:// where who connects needs a key.
// Beside what may be given, inproc:// and a port that the system chooses (tcp://127.0.0.1:*), for
// daemons in a test.
void require_bindable(const std::string& endpoint, Keys keys);

// Throws std::invalid_argument where both would be bound to the same place.
void require_two(const std::string& workloads, const std::string& control);

// The path of an ipc endpoint; empty for any other.
std::filesystem::path ipc_path(const std::string& endpoint);

}  // namespace gearshift
