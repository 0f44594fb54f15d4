#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "policies/lua/lua_policy.h"
#include "tests/policies/policy_problem.h"

namespace gearshift {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string failure_of(const std::string& text) {
  const PolicyProblem problem;
  LuaPolicy policy("left_out.lua", text);
  policy.start(problem.context());
  return std::string(policy.failure());
}

TEST(LeftOut, NamesTheWayOutInTheLineOfTheError) {
  EXPECT_THAT(
      failure_of("print('x')"),
      HasSubstr("left_out.lua:1: attempt to call a nil value (global 'print'); print is not "
                "there: use log\ncalls:"));
}

TEST(LeftOut, HasAWordForEachNameThatTheDocumentSays) {
  for (const char* name :
       {"pcall", "xpcall", "setmetatable", "next", "load", "require", "collectgarbage", "print"}) {
    EXPECT_THAT(failure_of(std::string(name) + "()"), HasSubstr(std::string("; ") + name +
                                                                " is not "
                                                                "there: "));
  }
  EXPECT_THAT(failure_of("for k in next, {} do end"), HasSubstr("; next is not there: use pairs"));
  for (const char* name : {"io", "os", "debug", "coroutine"}) {
    EXPECT_THAT(failure_of(std::string(name) + ".f()"),
                HasSubstr(std::string("; ") + name + " is not there: "));
  }
  for (const char* name : {"rep", "find", "match", "gmatch", "gsub"}) {
    const std::string hint = "; string." + std::string(name) + " is not there: ";
    EXPECT_THAT(failure_of("string." + std::string(name) + "('x')"), HasSubstr(hint));
    EXPECT_THAT(failure_of("local s = ('x'):" + std::string(name) + "('x')"), HasSubstr(hint));
  }
}

TEST(LeftOut, SaysNothingOfNamesThatAScriptGives) {
  EXPECT_THAT(failure_of("local print\nprint()"), Not(HasSubstr("is not there")));
  EXPECT_THAT(failure_of("my_print()"), Not(HasSubstr("is not there")));
  EXPECT_THAT(failure_of("error('print')"), Not(HasSubstr("is not there")));
}

}  // namespace
}  // namespace gearshift
