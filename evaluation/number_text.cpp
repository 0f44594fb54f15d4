#include "evaluation/number_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace gearshift {

std::string fixed(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  std::array<char, 64> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value,
                                          std::chars_format::fixed, digits);
  if (error != std::errc()) return exact(value);
  const std::string out(text.data(), end);
  // No "-0.0".
  return out.find_first_not_of("-0.") == std::string::npos && out.front() == '-' ? out.substr(1)
                                                                                 : out;
}

std::string percent(double share) {
  const double value = 100 * share;
  if (value == 0) return "0";
  return fixed(value, std::abs(value) < 0.995 ? 2 : std::abs(value) < 99.95 ? 1 : 0);
}

std::string share_text(std::size_t count, std::size_t rows) {
  return rows == 0 ? "-" : percent(static_cast<double>(count) / static_cast<double>(rows));
}

std::string exact(double value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::string(text.data(), end) : std::string("-");
}

}  // namespace gearshift
