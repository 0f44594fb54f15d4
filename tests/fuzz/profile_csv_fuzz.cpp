// Feeds parse_profiles with any bytes: nothing but a CsvError of printable text may come out, and
// what is accepted must be fit for use and come back as it was when it is written and read again.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "trace/profile_csv.h"

namespace {

void check(const gearshift::Profile& profile) {
  if (profile.cells().empty()) std::abort();
  for (const gearshift::ProfileCell& cell : profile.cells()) {
    if (!profile.knobs().contains(cell.mode)) std::abort();
    if (!(cell.power_w > 0 && std::isfinite(cell.power_w))) std::abort();
    if (!(cell.minibatch_ms > 0 && cell.batch_size > 0)) std::abort();
    if (!cell.timed() && !cell.epoch_s) std::abort();
    if (profile.find(cell.mode, cell.batch_size) != &cell) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const std::vector<gearshift::Profile> profiles = gearshift::parse_profiles(bytes, "fuzz.csv");
    for (const gearshift::Profile& profile : profiles) check(profile);
    const std::string text = gearshift::format_profiles(profiles);
    const auto again = gearshift::parse_profiles(text, "again.csv");
    if (again.size() != profiles.size()) std::abort();
    for (std::size_t i = 0; i < again.size(); ++i) {
      if (again[i].cells() != profiles[i].cells()) std::abort();
    }
    if (gearshift::format_profiles(again) != text) std::abort();
  } catch (const gearshift::CsvError& error) {
    for (const char c : std::string_view(error.what())) {
      if (c < ' ' || c > '~') std::abort();
    }
  }
  return 0;
}
