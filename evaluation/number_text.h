// Numbers as people and other programs read them.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

namespace gearshift {

// How long what is not reached takes, and what it costs.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

// With so many digits after the point; "-" where the number is not finite.
std::string fixed(double value, int digits);
// A share or an excess in percent: "3.4", "12", "0.62"; three significant digits at most.
std::string percent(double share);
// So many of the rows, in percent; "-" where there are none.
std::string share_text(std::size_t count, std::size_t rows);
// The shortest text that reads back to the same number.
std::string exact(double value);

}  // namespace gearshift
