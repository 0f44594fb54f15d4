#include "controller/limit_sources.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace gearshift {
namespace {

class HearingLimit : public LimitSource {
 public:
  HearingLimit(std::string name, Limit limit) : said(limit), name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  void consume(const Event&) override {}
  Limit limit(Time) override { return said; }
  void serve_above(std::int64_t power_mw) override { serves_mw = power_mw; }
  void hear(const Prevailing& prevailing) override { heard = prevailing; }

  Limit said;
  std::int64_t serves_mw = -1;
  Prevailing heard;

 private:
  std::string name_;
};

class LimitSourcesTest : public testing::Test {
 protected:
  // What they come to, where requests need `floor_mw` (see LimitSources::combine).
  const Cap& ask(std::optional<std::int64_t> floor_mw = {}, bool lowest_is_over = false) {
    sources_.ask(Time{});
    sources_.combine(floor_mw, lowest_is_over, serving_);
    return sources_.cap();
  }
  HearingLimit chosen_{"operator", {}}, plan_{"battery", {}}, heat_{"thermal", {}};
  LimitSource* const all_[3] = {&chosen_, &plan_, &heat_};
  LimitSources sources_{all_};
  Serving serving_;
};

TEST_F(LimitSourcesTest, NoneCapsWhereNoneSaysSo) {
  EXPECT_FALSE(ask().power_mw);
  EXPECT_EQ(sources_.cap().source, "none");
  EXPECT_FALSE(sources_.plans());
}

TEST_F(LimitSourcesTest, TheLeastBindsAndOfEqualsTheFirst) {
  chosen_.said = {.power_mw = 20'000};
  heat_.said = {.power_mw = 20'000, .moves = true};
  EXPECT_EQ(ask().source, "operator");
  EXPECT_FALSE(sources_.cap().moves);
  heat_.said.power_mw = 19'999;
  EXPECT_EQ(ask().source, "thermal");
  EXPECT_EQ(sources_.cap().power_mw, 19'999);
  EXPECT_TRUE(sources_.cap().moves);
}

TEST_F(LimitSourcesTest, EachHearsTheLeastOfTheOthers) {
  chosen_.said = {.power_mw = 20'000};
  plan_.said = {.power_mw = 30'000, .planned_mw = 12'000};
  ask();
  sources_.hear(true);
  EXPECT_EQ(chosen_.heard, (Prevailing{12'000, true}));
  EXPECT_EQ(plan_.heard, (Prevailing{20'000, true}));
  EXPECT_EQ(heat_.heard, (Prevailing{12'000, true}));
}

TEST_F(LimitSourcesTest, APlanHoldsWhereNobodyMustBeServed) {
  chosen_.said = {.power_mw = 20'000};
  plan_.said = {.planned_mw = 12'000, .moves = true};
  EXPECT_EQ(ask().power_mw, 12'000);
  EXPECT_TRUE(sources_.plans());
  EXPECT_EQ(sources_.plan_mw(), 12'000);
  EXPECT_EQ(plan_.serves_mw, 0);
}

TEST_F(LimitSourcesTest, APlanWaitsUntilItIsKnownWhatServes) {
  chosen_.said = {.power_mw = 20'000};
  plan_.said = {.planned_mw = 12'000};
  EXPECT_EQ(ask(0).source, "operator");
  EXPECT_FALSE(sources_.plan_mw());
}

TEST_F(LimitSourcesTest, APlanHoldsUntilNothingServesUnderIt) {
  plan_.said = {.planned_mw = 12'000};
  EXPECT_EQ(ask(18'000).power_mw, 12'000);
  EXPECT_EQ(sources_.plan_mw(), 12'000) << "nothing is known to serve under it";
  EXPECT_EQ(plan_.serves_mw, 18'000);
  serving_.nothing_serves_under(12'000);
  EXPECT_EQ(ask(18'000).source, "latency floor");
  EXPECT_EQ(sources_.cap().power_mw, 15'000) << "half of the way up";
  EXPECT_EQ(sources_.plan_mw(), 15'000);
  serving_.nothing_serves_under(17'900);
  EXPECT_EQ(ask(18'000).power_mw, 18'000);
  EXPECT_FALSE(sources_.plan_mw()) << "what serves is known to fit";
}

TEST_F(LimitSourcesTest, APlanThatTheLowestModeIsOverServesNobody) {
  plan_.said = {.planned_mw = 12'000};
  ask(18'000);
  EXPECT_EQ(ask(18'000, true).source, "latency floor");
}

TEST_F(LimitSourcesTest, APlanThatGivesWayIsStillUnderTheOthers) {
  chosen_.said = {.power_mw = 14'000};
  plan_.said = {.planned_mw = 12'000};
  serving_.nothing_serves_under(12'000);
  EXPECT_EQ(ask(18'000).source, "operator");
  EXPECT_FALSE(sources_.plan_mw());
}

TEST_F(LimitSourcesTest, WhoSaysThatPowerEndsLeavesNone) {
  chosen_.said = {.power_mw = 14'000};
  plan_.said = {.planned_mw = 12'000, .ends_soon = true, .moves = true};
  ask();
  EXPECT_EQ(sources_.ends_soon(), "battery");
  sources_.leave_none();
  EXPECT_EQ(sources_.cap().power_mw, kNoPowerMw);
  EXPECT_EQ(sources_.cap().source, "battery");
  EXPECT_FALSE(sources_.cap().moves);
  plan_.said.ends_soon = false;
  EXPECT_EQ(ask().power_mw, 12'000);
  EXPECT_EQ(sources_.ends_soon(), "");
}

}  // namespace
}  // namespace gearshift
