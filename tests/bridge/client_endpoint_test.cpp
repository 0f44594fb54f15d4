// Where the C++ client looks for the daemon, and where it does not.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "bridge/client/gearshift_endpoint.hpp"
#include "tests/fakes/listener.h"
#include "tests/fakes/says.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift::client::detail {
namespace {

TEST(ClientEndpoint, IsWhereTheProtocolSays) {
  std::string trouble;
  EXPECT_EQ(find_endpoint("ipc:///given", trouble), "ipc:///given");
  ::setenv("GEARSHIFT_ENDPOINT", "ipc:///variable", 1);
  EXPECT_EQ(find_endpoint("", trouble), "ipc:///variable");
  EXPECT_EQ(find_endpoint("ipc:///given", trouble), "ipc:///given");
  ::unsetenv("GEARSHIFT_ENDPOINT");
  EXPECT_EQ(trouble, "");
  EXPECT_EQ(own_folder(0, "/run/user/0", "/run/gearshift"), "/run/gearshift");
  EXPECT_EQ(own_folder(1000, "/run/user/1000", "/run/gearshift"), "/run/user/1000/gearshift");
  EXPECT_EQ(own_folder(1000, "", "/run/gearshift"), "/tmp/gearshift-1000");
  EXPECT_EQ(own_folder(1000, nullptr, "/run/gearshift"), "/tmp/gearshift-1000");
}

class ClientFolder : public testing::Test {
 protected:
  std::string find(uid_t who) {
    trouble.clear();
    const std::string endpoint = endpoint_in(own, system, who, trouble);
    if (endpoint == "ipc://" + own + "/workloads.ipc") return "own";
    if (endpoint == "ipc://" + system + "/workloads.ipc") return "system";
    return endpoint;
  }

  const fakes::TempTree tree;
  const uid_t user = ::geteuid();
  const std::string own = tree.at("/own");
  const std::string system = tree.at("/system");
  std::string trouble;
};

TEST_F(ClientFolder, IsTheFirstWithASocket) {
  EXPECT_EQ(find(user), "") << "whoever makes it first is nobody to connect to";
  tree.put("/system/workloads.ipc", "");
  EXPECT_EQ(find(user), "system");
  tree.folder("/own");
  tree.mode("/own", 0700);
  EXPECT_EQ(find(user), "system");
  const fakes::Listener daemon(own + "/workloads.ipc");
  EXPECT_EQ(find(user), "own");
  EXPECT_EQ(trouble, "");
}

TEST_F(ClientFolder, HoldsASocketOnWhichSomebodyListens) {
  tree.folder("/own");
  tree.mode("/own", 0700);
  tree.folder("/system");
  { const fakes::Listener killed(own + "/workloads.ipc"); }
  EXPECT_EQ(find(user), "own") << "who starts there is to be found";
  const fakes::Listener roots(system + "/workloads.ipc");
  EXPECT_EQ(find(user), "system");
  const fakes::Listener hangs(own + "/workloads.ipc");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(find(user), "own") << "its queue is full in the end";
}

TEST_F(ClientFolder, ThatAnotherUserMayHaveMadeIsLeftOut) {
  tree.put("/own/workloads.ipc", "");
  tree.mode("/own", 0777);
  EXPECT_EQ(find(user), "");
  EXPECT_TRUE(fakes::says(trouble, own)) << trouble;
  tree.mode("/own", 0770);
  EXPECT_EQ(find(user), "");
  tree.put("/system/workloads.ipc", "");
  EXPECT_EQ(find(user), "system");
  EXPECT_TRUE(fakes::says(trouble, own)) << trouble;
  tree.mode("/own", 0711);
  const fakes::Listener daemon(own + "/workloads.ipc");
  EXPECT_EQ(find(user), "own");
  tree.remove("/system");
  tree.folder("/other");
  tree.mode("/other", 0700);
  tree.put("/other/workloads.ipc", "");
  tree.remove("/own");
  tree.link("/own", "other");
  EXPECT_EQ(find(user), "") << "a link may be moved";
  if (user != 0) return;
  tree.remove("/own");
  tree.put("/own/workloads.ipc", "");
  tree.mode("/own", 0700);
  EXPECT_EQ(find(1000), "own") << "root's";
  ASSERT_EQ(::chown(own.c_str(), 1001, 0), 0);
  EXPECT_EQ(find(1000), "");
  EXPECT_EQ(find(1001), "own");
  ASSERT_EQ(::chown((own + "/workloads.ipc").c_str(), 1000, 0), 0);
  EXPECT_EQ(find(1001), "");
}

}  // namespace
}  // namespace gearshift::client::detail
