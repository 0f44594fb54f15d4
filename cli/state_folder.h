// Where gearshift keeps what must outlive a run: the knob journal.
#pragma once

#include <filesystem>

namespace gearshift {

// /var/lib/gearshift as root, else $XDG_STATE_HOME/gearshift, else ~/.local/state/gearshift.
// Not created. Throws std::runtime_error where there is no home folder either.
std::filesystem::path default_state_folder();

// The knob journal in a state folder.
std::filesystem::path journal_path(const std::filesystem::path& state_folder);

}  // namespace gearshift
