#include "evaluation/drift_report.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gearshift {
namespace {

bool says(const std::vector<DriftRow>& rows, const char* text) {
  return drift_text(rows).find(text) != std::string::npos;
}

const DriftRow kUnmoved{.policy = "p", .change = "throttle", .seed = 1, .shift = 0};
const DriftRow kNeverNoticed{.policy = "p", .change = "throttle", .seed = 2, .shift = 0.1};
const DriftRow kNoticed{.policy = "p", .change = "throttle", .seed = 3, .shift = 0.1, .noticed = 2};

TEST(DriftReport, SaysWhereNothingMovedThatCouldBeNoticed) {
  EXPECT_TRUE(says({kUnmoved}, "- (1 unmoved)")) << drift_text(std::vector{kUnmoved});
  EXPECT_TRUE(says({kUnmoved, kNeverNoticed}, "- (1 unmoved)"));
  EXPECT_TRUE(says({kUnmoved, kUnmoved, kNoticed}, "2, 2 (2 unmoved)"));
  EXPECT_FALSE(says({kNeverNoticed}, "unmoved"));
}

TEST(DriftReport, SaysHowManyNeverNoticed) {
  EXPECT_TRUE(says({kNoticed, kNeverNoticed, kNeverNoticed}, "2, 2 (2 never)"));
  EXPECT_TRUE(says({kNoticed, kNeverNoticed, kUnmoved}, "2, 2 (1 never) (1 unmoved)"));
}

}  // namespace
}  // namespace gearshift
