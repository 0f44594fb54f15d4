#include "cli/one_value_each.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gearshift {
namespace {

struct Given {
  std::vector<std::string> policy, keep, files;
  std::string spec;
};

Given given(const std::string& line) {
  Given values;
  CLI::App app;
  CLI::App* command = app.add_subcommand("evaluate");
  command->add_option("spec", values.spec);
  command->add_option("--policy", values.policy)->delimiter(',');
  command->add_option("--keep", values.keep);
  CLI::App* other = app.add_subcommand("pareto");
  other->add_option("FILE", values.files)->expected(-1);
  take_one_value_each(app);
  app.parse(line);
  return values;
}

using Words = std::vector<std::string>;

TEST(OneValueEach, WhatFollowsAFlagsValueIsNoSecondOne) {
  for (const char* const line :
       {"evaluate --policy maxn spec.toml", "evaluate spec.toml --policy maxn",
        "evaluate --policy=maxn spec.toml"}) {
    EXPECT_EQ(given(line).policy, Words{"maxn"}) << line;
    EXPECT_EQ(given(line).spec, "spec.toml") << line;
  }
  EXPECT_THROW(given("evaluate --keep a=1 b=2 c=3"), CLI::ExtrasError);
}

TEST(OneValueEach, AFlagIsGivenAgainAndTakesCommas) {
  const Given values = given("evaluate --policy a,b --keep x=1,2 --policy c --keep y=3");
  EXPECT_EQ(values.policy, (Words{"a", "b", "c"}));
  EXPECT_EQ(values.keep, (Words{"x=1,2", "y=3"}));
}

TEST(OneValueEach, WordsWithoutAFlagAreAsManyAsBefore) {
  EXPECT_EQ(given("pareto a.csv b.model").files, (Words{"a.csv", "b.model"}));
}

}  // namespace
}  // namespace gearshift
