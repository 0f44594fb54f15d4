// Names of Lua's library that a script does not have, for who knows them from elsewhere.
#pragma once

#include <string>
#include <string_view>

namespace gearshift {

// To be appended to Lua's message where it is about such a name: "; print is not there: use log".
// Empty where it is about anything else.
std::string left_out_hint(std::string_view message);

}  // namespace gearshift
