// Whether a message has some words in it.
#pragma once

#include <string>
#include <string_view>

namespace gearshift::fakes {

inline bool says(const std::string& message, std::string_view part) {
  return message.find(part) != std::string::npos;
}

}  // namespace gearshift::fakes
