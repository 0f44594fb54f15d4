// Where gearshift keeps what must outlive a run: the knob journal, keys, and what an operator has
// ordered of it.
#pragma once

#include <filesystem>
#include <string>

namespace gearshift {

// /var/lib/gearshift as root, else $XDG_STATE_HOME/gearshift, else ~/.local/state/gearshift.
// Not created. Throws std::runtime_error where there is no home folder either.
std::filesystem::path default_state_folder();

// What was given, else the default.
std::filesystem::path state_folder_of(const std::string& given);

// The same, as the help texts say it.
inline constexpr char kStateFolderDefault[] =
    "default: /var/lib/gearshift as root, else $XDG_STATE_HOME/gearshift or "
    "~/.local/state/gearshift";

// The knob journal in a state folder.
std::filesystem::path journal_path(const std::filesystem::path& state_folder);

// The folder of keys, as it was given or else in the state folder, which may be empty: the default.
std::filesystem::path keys_folder(const std::string& given, const std::string& state_folder);
// What makes another command look there too, a space first; "" where that is the default.
std::string keys_folder_flag(const std::string& given, const std::string& state_folder);

}  // namespace gearshift
