// What is told beside an answer: progress, complaints, what a daemon does. Nobody has to read it.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <utility>

namespace gearshift {

// Writes it to `out`, and goes on where that cannot be written: a full disk or a closed stream
// ends no work (fmt::print throws there).
template <typename... T>
void tell(std::FILE* out, fmt::format_string<T...> format, T&&... values) {
  std::fputs(fmt::format(format, std::forward<T>(values)...).c_str(), out);
  std::fflush(out);
}

}  // namespace gearshift
