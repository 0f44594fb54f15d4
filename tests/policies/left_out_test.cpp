#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "policies/lua/lua_policy.h"
#include "tests/policies/policy_problem.h"

namespace gearshift {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string left_out_failure(const std::string& text) {
  const PolicyProblem problem;
  LuaPolicy policy("left_out.lua", text);
  policy.start(problem.context());
  return std::string(policy.failure());
}

TEST(LeftOut, NamesTheWayOutInTheLineOfTheError) {
  EXPECT_THAT(
      left_out_failure("print('x')"),
      HasSubstr("left_out.lua:1: attempt to call a nil value (global 'print'); print is not "
                "there: use log\ncalls:"));
}

TEST(LeftOut, HasAWordForEachNameThatTheDocumentSays) {
  for (const char* name :
       {"pcall", "xpcall", "setmetatable", "next", "load", "require", "collectgarbage", "print"}) {
    EXPECT_THAT(left_out_failure(std::string(name) + "()"), HasSubstr(std::string("; ") + name +
                                                                      " is not "
                                                                      "there: "));
  }
  EXPECT_THAT(left_out_failure("for k in next, {} do end"),
              HasSubstr("; next is not there: use pairs"));
  for (const char* name : {"io", "os", "debug", "coroutine"}) {
    EXPECT_THAT(left_out_failure(std::string(name) + ".f()"),
                HasSubstr(std::string("; ") + name + " is not there: "));
  }
  for (const char* name : {"rep", "find", "match", "gmatch", "gsub"}) {
    const std::string hint = "; string." + std::string(name) + " is not there: ";
    EXPECT_THAT(left_out_failure("string." + std::string(name) + "('x')"), HasSubstr(hint));
    EXPECT_THAT(left_out_failure("local s = ('x'):" + std::string(name) + "('x')"),
                HasSubstr(hint));
  }
}

TEST(LeftOut, SaysNothingOfNamesThatAScriptGives) {
  EXPECT_THAT(left_out_failure("local print\nprint()"), Not(HasSubstr("is not there")));
  EXPECT_THAT(left_out_failure("my_print()"), Not(HasSubstr("is not there")));
  EXPECT_THAT(left_out_failure("error('print')"), Not(HasSubstr("is not there")));
}

}  // namespace
}  // namespace gearshift
