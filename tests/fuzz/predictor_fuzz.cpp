// Feeds arbitrary bytes to the reader of PowerTrain's models: they are refused with a reason, or
// what was read is written and read again as the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "policies/powertrain/predictor_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const std::string first =
        gearshift::format_predictor(gearshift::parse_predictor(bytes, "fuzz"));
    if (gearshift::format_predictor(gearshift::parse_predictor(first, "fuzz")) != first) {
      std::abort();
    }
  } catch (const gearshift::PredictorFileError&) {
  }
  return 0;
}
