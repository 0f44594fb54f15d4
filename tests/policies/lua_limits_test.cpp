#include "policies/lua/lua_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "policies/lua/lua_policy.h"
#include "tests/policies/policy_problem.h"

namespace gearshift {
namespace {

using testing::HasSubstr;

std::string limits_failure(const std::string& text) {
  const PolicyProblem problem;
  LuaPolicy policy("limits.lua", text);
  policy.start(problem.context());
  return std::string(policy.failure());
}

std::string filling(const std::string& key, std::size_t entries) {
  return "local t = {}\nfor i = 1, " + std::to_string(entries) + " do t[" + key + "] = i end";
}

TEST(LuaLimits, AListAndATableHoldWhatTheErrorSaysAndNoMore) {
  for (const auto& [key, most] :
       {std::pair{"i", kMostListEntries}, {"#t + 1", kMostListEntries}, {"'n' .. i", kMostNames}}) {
    EXPECT_EQ(limits_failure(filling(key, most)), "") << key;
    EXPECT_THAT(limits_failure(filling(key, most + 1)),
                HasSubstr("limits.lua:2: not enough memory (a table or a call stack larger than a "
                          "script may have: a list has at most 4096 entries, a table 2048 names; "
                          "look at modes[i] in place, or keep positions in several lists)\n"))
        << key;
  }
}

}  // namespace
}  // namespace gearshift
