// Who listens on the file of a socket.
#pragma once

#include <filesystem>

namespace gearshift {

// What connect() to it says at once: 0 or EAGAIN (the queue of who listens is full) where a program
// listens, ECONNREFUSED where one that is dead left the file; another errno else, also where this
// process may open no socket to ask by. Never waits.
int connect_code(const std::filesystem::path& path);

// Whether a program listens on it now. True too where this process may open no socket to ask by.
bool listens(const std::filesystem::path& path);

}  // namespace gearshift
