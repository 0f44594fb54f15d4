#include "cli/boottime_clock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace gearshift {
namespace {

// Puts TZ back as it was.
class Zone {
 public:
  Zone() {
    if (const char* const before = std::getenv("TZ")) before_ = before;
  }
  ~Zone() { before_ ? setenv("TZ", before_->c_str(), 1) : unsetenv("TZ"); }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;
  void become(const char* zone) const { setenv("TZ", zone, 1); }

 private:
  std::optional<std::string> before_;
};

TEST(LocalTime, IsThatOfTheZoneOfNowAndNotOfTheFirstTimeThatItWasAskedFor) {
  const Zone zone;
  zone.become("UTC0");
  const LocalTime at_zero = local_time();
  zone.become("EAST-5");
  const LocalTime in_the_east = local_time();
  const Duration day = std::chrono::hours(24);
  const Duration ahead = (in_the_east.since_midnight - at_zero.since_midnight + day) % day;
  EXPECT_GE(ahead, std::chrono::hours(5));
  EXPECT_LT(ahead, std::chrono::hours(5) + std::chrono::minutes(1));
}

}  // namespace
}  // namespace gearshift
