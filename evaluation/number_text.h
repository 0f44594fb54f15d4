// Numbers as people and other programs read them.
#pragma once

#include <string>

namespace gearshift {

// With so many digits after the point; "-" where the number is not finite.
std::string fixed(double value, int digits);
// A share or an excess in percent: "3.4", "12", "0.62"; three significant digits at most.
std::string percent(double share);
// The shortest text that reads back to the same number.
std::string exact(double value);

}  // namespace gearshift
