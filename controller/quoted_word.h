// Words of a command line as a shell takes them.
#pragma once

#include <string>

namespace gearshift {

// `word` as it is where a shell reads it so; else in quotes.
std::string quoted_word(const std::string& word);

}  // namespace gearshift
