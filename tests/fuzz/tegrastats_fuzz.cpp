// Feeds a log of any bytes to the reader of tegrastats: an error names the log, and what is
// accepted becomes CSV with equally many fields in each line.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "trace/tegrastats.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  try {
    const gearshift::TegrastatsLog log = gearshift::read_tegrastats(in, "fuzz.log");
    if (log.samples.empty()) std::abort();
    std::ostringstream out;
    gearshift::write_tegrastats_csv(log, {"VDD_IN"}, std::chrono::seconds(1), out);
    const std::string text = out.str();
    if (text.find('"') != std::string::npos) return 0;  // a name with a comma of its own
    std::istringstream lines(text);
    std::string line;
    std::ptrdiff_t fields = -1;
    while (std::getline(lines, line)) {
      const std::ptrdiff_t commas = std::count(line.begin(), line.end(), ',');
      if (fields >= 0 && commas != fields) std::abort();
      fields = commas;
    }
  } catch (const gearshift::TegrastatsError& error) {
    if (std::string_view(error.what()).find("fuzz.log: ") != 0) std::abort();
  }
  return 0;
}
