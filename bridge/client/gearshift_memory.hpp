// What a server does where a batch of requests does not fit in memory: how it knows, and which
// smaller batch it goes back to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

namespace gearshift::client::detail {

// Of a GPU's library too, by its text: its type is not known here.
inline bool is_out_of_memory(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    return true;
  } catch (const std::exception& error) {
    const std::string_view text(error.what());
    const auto has = [&](const char* words) { return text.find(words) != std::string_view::npos; };
    return has("out of memory") || has("Out of memory") || has("ALLOC_FAILED");
  } catch (...) {
    return false;
  }
}

// The largest of the sizes offered (ascending) that is below a number of samples that did not fit:
// of those that hold no more than were `answered` at once before, or else of all. None: all hold as
// many.
inline std::optional<std::int32_t> size_that_fits(const std::vector<std::int32_t>& offered,
                                                  std::int32_t failed, std::int32_t answered) {
  const auto largest = [&](std::int32_t most) -> std::optional<std::int32_t> {
    const auto above = std::upper_bound(offered.begin(), offered.end(), most);
    if (above == offered.begin()) return std::nullopt;
    return *(above - 1);
  };
  const std::optional<std::int32_t> known = largest(std::min(failed - 1, answered));
  return known ? known : largest(failed - 1);
}

}  // namespace gearshift::client::detail
