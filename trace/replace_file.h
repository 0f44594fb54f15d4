// Replaces a file as a whole, so that neither a crash nor a full disk costs what it held.
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string_view>

namespace gearshift {

// Writes `text` beside `path` (PATH.new, or a number behind it where that is there), and renames it
// once it is on disk; returns when the name is on disk too. A reader, and whoever comes after a
// crash, finds the old file or the new one. The mode of the old one is kept, and its owner where
// that may be. A link stays, and what it leads to is replaced, or made where it leads to nothing
// (see behind_own_links). What is no file (a pipe, a terminal, /dev/stdout) is written to as it is.
// Throws std::runtime_error with the path and the reason; the old file is then as it was, unless
// the folder alone could not be synced.
void replace_file(const std::filesystem::path& path, std::string_view text);
// The same with what `write` writes. What that throws is thrown on, and the old file is as it was.
void replace_file(const std::filesystem::path& path,
                  const std::function<void(std::ostream&)>& write);

// The folder that a file is in; "." where the path names none.
std::filesystem::path folder_of(const std::filesystem::path& path);

// What can be told before there is anything to write: throws as replace_file does where `path` is a
// folder or a link of another user, or its folder is not there or not writable. Writes nothing.
void check_replaceable(const std::filesystem::path& path);

// What the path names in the end: where a link at it leads, whether or not that is there. The path
// itself where there is none.
std::filesystem::path behind_links(const std::filesystem::path& path);
// The same of what is to be replaced. Throws std::runtime_error that names a link on the way which
// belongs neither to root nor to this user nor to who called sudo: in a folder that all may write,
// it would choose the file.
std::filesystem::path behind_own_links(const std::filesystem::path& path);

}  // namespace gearshift
