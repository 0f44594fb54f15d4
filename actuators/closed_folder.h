// Folders that others may not write, whatever the umask: who may write a folder may remove what is
// in it, or put something else in its place.
#pragma once

#include <filesystem>
#include <optional>

namespace gearshift {

// Makes `folder` and those above it that are missing, of mode 0755 or what the umask leaves of it.
// True where `folder` itself was made; using it tells why one could not be.
bool make_closed_folder(const std::filesystem::path& folder);

// True where users other than its owner may remove files that are not theirs.
bool is_open_to_others(const std::filesystem::path& folder);

// The user that the folder belongs to, who may remove what is in it whatever its mode; none where
// that is this process's or root, or where there is no folder.
std::optional<unsigned> foreign_owner(const std::filesystem::path& folder);

}  // namespace gearshift
