#include "actuators/number_list.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

TEST(NumberList, TakesTheNumbersInFrontSortedAndOnce) {
  EXPECT_EQ(parse_numbers("3199000 204000 204000 (kHz)"),
            (std::vector<std::int64_t>{204000, 3199000}));
  EXPECT_EQ(parse_numbers(""), std::vector<std::int64_t>{});
  EXPECT_EQ(parse_numbers("<unsupported> 7"), std::vector<std::int64_t>{});
  EXPECT_EQ(parse_numbers("1 99999999999999999999"), std::vector<std::int64_t>{1});
}

TEST(NumberList, CpuSetsComeBackAsTheyWere) {
  for (const char* text : {"", "0", "0-3", "0,3-5", "1-2,4,1023"}) {
    const auto cpus = parse_cpu_set(text);
    ASSERT_TRUE(cpus) << text;
    EXPECT_EQ(format_cpu_set(*cpus), text);
  }
}

TEST(NumberList, RefusesWhatIsNoCpuSet) {
  for (const char* text : {"-", "0-", "-3", "3-1", "0,", "0,,1", "0 1", "1024", "0-1024", "x"}) {
    EXPECT_FALSE(parse_cpu_set(text)) << text;
  }
}

}  // namespace
}  // namespace gearshift
