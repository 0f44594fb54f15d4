#include "cli/schedule_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kSundayNow = 6;

TEST(ScheduleText, TellsTheClockAndTheStepsAboutIt) {
  const std::vector<TimetableStep> daily = {{kEveryDay, hours(5) + minutes(57), 15'000},
                                            {kEveryDay, hours(22), 28'500}};
  const Duration now = hours(6) + minutes(17) + seconds(59);
  EXPECT_EQ(schedule_text(daily, {kSundayNow, now}, "CET"),
            "schedule: it is Sun 06:17 CET; 15 W since 05:57, 28.5 W from 22:00");
  EXPECT_EQ(schedule_text(daily, {kSundayNow, hours(23)}, "CET"),
            "schedule: it is Sun 23:00 CET; 28.5 W since 22:00, 15 W from Mon 05:57");
}

TEST(ScheduleText, NamesTheDayOfAnother) {
  const std::vector<TimetableStep> friday = {{1 << 4, hours(8) + seconds(30), 20'000},
                                             {1 << 4, hours(18), std::nullopt}};
  EXPECT_EQ(schedule_text(friday, {kSundayNow, hours(9)}, "UTC"),
            "schedule: it is Sun 09:00 UTC; no cap since Fri 18:00, 20 W from Fri 08:00:30");
}

class ZoneObjection : public testing::Test {
 protected:
  ZoneObjection() {
    for (const char* const name : {"TZ", "TZDIR"}) {
      if (const char* const before = std::getenv(name)) before_[name] = before;
    }
    setenv("TZDIR", tree_.at("").c_str(), 1);
  }
  ~ZoneObjection() override {
    for (const char* const name : {"TZ", "TZDIR"}) {
      before_.contains(name) ? setenv(name, before_[name].c_str(), 1) : unsetenv(name);
    }
  }
  static std::string of(const std::string& zone) {
    setenv("TZ", zone.c_str(), 1);
    return zone_objection();
  }

  const fakes::TempTree tree_;
  std::map<std::string, std::string> before_;
};

TEST_F(ZoneObjection, IsToANameThatHasNoFileOfRules) {
  tree_.put("/Europe/Berlin", "TZif2");
  tree_.put("/Europe/notes.txt", "zones of Europe");
  EXPECT_EQ(of("Europe/Berlin"), "");
  EXPECT_EQ(of(":Europe/Berlin"), "");
  EXPECT_EQ(of(tree_.at("/Europe/Berlin").string()), "") << "a path";
  for (const std::string zone : {"Europe/Berlim", "Europe", "Europe/notes.txt", "Mars", ":Mars"}) {
    const std::string why = of(zone);
    EXPECT_TRUE(why.starts_with("TZ '" + zone + "': ")) << why;
    EXPECT_NE(why.find("tzdata"), std::string::npos) << why;
  }
}

TEST_F(ZoneObjection, IsNotToRulesNorToTheZoneThatComesOfNone) {
  unsetenv("TZ");
  EXPECT_EQ(zone_objection(), "");
  for (const char* const zone :
       {"", ":", "UTC", "UTC0", "GMT", "CET-1CEST", "CET-1CEST,M3.5.0,M10.5.0/3", "<+03>-3"}) {
    EXPECT_EQ(of(zone), "") << zone;
  }
  for (const char* const zone : {"CET", "<+03>", "<+03", "-3", "AB3"})
    EXPECT_NE(of(zone), "") << zone;
}

}  // namespace
}  // namespace gearshift
