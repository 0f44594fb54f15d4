#include "cli/knob_values.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace gearshift {
namespace {

TEST(KnobValues, ATableWithoutKnobsIsSaidToHaveNone) {
  for (const char* text : {"gpu_mhz", "gpu_mhz=300", ""}) {
    try {
      parse_knob_values({}, "--keep", text);
      FAIL() << text;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("--keep: there are no knobs"), std::string::npos)
          << error.what();
    }
  }
  EXPECT_THROW(parse_knob({}, "--keep", "gpu_mhz"), std::invalid_argument);
}

}  // namespace
}  // namespace gearshift
