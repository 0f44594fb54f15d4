// The folder that a virtual board appears in: made, checked, and freed of a mount that died.
#pragma once

#include <filesystem>

namespace gearshift {

// Makes the folder where it is missing, and unmounts a board whose process died without doing so.
// Throws std::runtime_error where it cannot, or where the folder holds anything.
void prepare_mount_point(const std::filesystem::path& folder);

// Unmounts what is mounted there; does nothing where nothing is.
void unmount(const std::filesystem::path& folder);

// Why FUSE cannot be used on this machine; empty where it can.
std::string fuse_obstacle();

}  // namespace gearshift
