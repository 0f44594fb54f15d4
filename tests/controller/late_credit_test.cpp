#include "controller/late_credit.h"

#include <gtest/gtest.h>

#include "tests/fakes/rig.h"

namespace gearshift {
namespace {

using fakes::setting_of;

TEST(LateCredit, CallsOnceAnAccidentHoweverManyAreLateAndNotTwice) {
  LateCredit credit;
  credit.hold(setting_of(fakes::kFast));
  EXPECT_TRUE(credit.pays(40));
  EXPECT_FALSE(credit.pays(1));
  LateCredit singly;
  singly.hold(setting_of(fakes::kFast));
  EXPECT_TRUE(singly.pays(1));
  EXPECT_TRUE(singly.pays(0)) << "the limit was near";
  EXPECT_FALSE(singly.pays(1));
}

TEST(LateCredit, BearsOneRequestInTwoHundredForEverAndNoMore) {
  LateCredit bears;
  LateCredit ends;
  bool ended = false;
  for (int i = 0; i < 1000; ++i) {
    bears.answered(200);
    EXPECT_TRUE(bears.pays(1));
    ends.answered(150);
    ended = ended || !ends.pays(1);
  }
  EXPECT_TRUE(ended);
}

TEST(LateCredit, KeepsThreeAtMostOfOneSettingAtOneRate) {
  LateCredit credit;
  credit.hold(setting_of(fakes::kFast));
  credit.answered(1'000'000);
  credit.hold(setting_of(fakes::kFast));
  EXPECT_TRUE(credit.pays(2));
  EXPECT_FALSE(credit.pays(2)) << "wholly late twice in a row";
  credit.answered(1000);
  credit.hold(setting_of(fakes::kMiddle));
  EXPECT_TRUE(credit.pays(2));
  EXPECT_FALSE(credit.pays(1));
  credit.answered(1000);
  credit.forget();
  EXPECT_TRUE(credit.pays(2));
  EXPECT_FALSE(credit.pays(1));
}

}  // namespace
}  // namespace gearshift
