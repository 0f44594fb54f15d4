#include "trace/calling_user.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace gearshift {
namespace {

TEST(CallingUser, IsWhoCalledSudoAndElseTheUserOfTheProcess) {
  EXPECT_EQ(calling_user().user, geteuid());
  for (const char* text : {"12345", "12345x", "", "-1"}) {
    setenv("SUDO_UID", text, 1);
    const bool is_called = geteuid() == 0 && std::string(text) == "12345";
    EXPECT_EQ(calling_user().user, is_called ? 12345U : geteuid()) << text;
  }
  unsetenv("SUDO_UID");
}

}  // namespace
}  // namespace gearshift
