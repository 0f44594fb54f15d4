// The policy script that a command was given: a shipped one by its name, or a file by its path.
#pragma once

#include <string>
#include <string_view>

#include "trace/recording.h"

namespace gearshift {

// A word without a dot or a slash is the name of a shipped script ("bayes"); all else is a path.
bool names_shipped_script(std::string_view policy);

// Whether it can be read again: neither a part of the program nor a pipe, which would be empty
// then.
bool may_be_edited(const std::string& policy);

// The script under its file's name, as it may be shown: without folders, since a script's random
// numbers hang on its name, and not on where one stands. Throws PolicyError where no such script
// ships, with the names of those that do, or where the file cannot be read.
NamedText read_script(const std::string& policy);

}  // namespace gearshift
