// The file of a knob journal: replaced as a whole, read only where it can be trusted, and, where it
// cannot be removed, marked as used up.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace gearshift {

// Replaces the file and returns when both it and its name are on disk. What lies in the way of the
// fresh one is not written through: it may be somebody's link. Throws std::runtime_error.
void replace_journal_file(const std::filesystem::path& path, std::string_view text);

// Throws JournalError for a file whose text is not to be trusted, because others may write it, and
// std::runtime_error where it cannot be read.
std::string read_journal_file(const std::filesystem::path& path);

// False with errno where it stays; true where there is none.
bool remove_journal_file(const std::filesystem::path& path);

// A file system that has turned read-only keeps a journal of which everything is back. Were it put
// back again, by the next start, it would write over what people set since. So it is marked, beside
// the locks of boards, where a reboot clears it: the file as it is now, by its number, its time of
// writing and its text. Another journal at the same path is not marked. False where no mark can be
// made.
bool mark_put_back(const std::filesystem::path& path);
bool was_put_back(const std::filesystem::path& path);

}  // namespace gearshift
