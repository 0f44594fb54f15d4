#include "bridge/script_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

TEST(ScriptFile, ReadsItsText) {
  const fakes::TempTree tree;
  tree.put("/policy.lua", "return nil");
  ScriptFile script(tree.at("/policy.lua"));
  EXPECT_EQ(script.text(), "return nil");
  EXPECT_GE(script.descriptor(), 0);
  EXPECT_FALSE(script.take_changes());
}

TEST(ScriptFile, MayBeAbsent) {
  ScriptFile script("");
  EXPECT_EQ(script.text(), "");
  EXPECT_EQ(script.descriptor(), -1);
  EXPECT_FALSE(script.reload());
}

TEST(ScriptFile, NoticesAnEditInPlace) {
  const fakes::TempTree tree;
  tree.put("/policy.lua", "return 1");
  ScriptFile script(tree.at("/policy.lua"));
  tree.put("/policy.lua", "return 2");
  EXPECT_TRUE(script.take_changes());
  EXPECT_EQ(script.text(), "return 2");
  EXPECT_FALSE(script.take_changes());
}

TEST(ScriptFile, NoticesAFileThatTookItsPlace) {
  const fakes::TempTree tree;
  tree.put("/policy.lua", "return 1");
  ScriptFile script(tree.at("/policy.lua"));
  tree.put("/policy.lua.new", "return 2");
  EXPECT_FALSE(script.take_changes());
  std::filesystem::rename(tree.at("/policy.lua.new"), tree.at("/policy.lua"));
  EXPECT_TRUE(script.take_changes());
  EXPECT_EQ(script.text(), "return 2");
}

TEST(ScriptFile, NoticesAFolderThatTookThePlaceOfItsOwn) {
  const fakes::TempTree tree;
  tree.put("/now/policy.lua", "return 1");
  tree.put("/new/policy.lua", "return 2");
  ScriptFile script(tree.at("/now/policy.lua"));
  std::filesystem::rename(tree.at("/now"), tree.at("/old"));
  std::filesystem::rename(tree.at("/new"), tree.at("/now"));
  EXPECT_TRUE(script.take_changes());
  EXPECT_EQ(script.text(), "return 2");
  tree.put("/now/policy.lua", "return 3");
  EXPECT_TRUE(script.take_changes());
  std::filesystem::remove_all(tree.at("/now"));
  EXPECT_FALSE(script.take_changes());
  tree.put("/now/policy.lua", "return 4");
  EXPECT_TRUE(script.take_changes());
  EXPECT_EQ(script.text(), "return 4");
}

TEST(ScriptFile, TakesAWriteOfTheSameTextForNoChange) {
  const fakes::TempTree tree;
  tree.put("/policy.lua", "return 1");
  ScriptFile script(tree.at("/policy.lua"));
  tree.put("/policy.lua", "return 1");
  tree.put("/other.lua", "return 3");
  EXPECT_FALSE(script.take_changes());
}

TEST(ScriptFile, KeepsItsTextWhileTheFileIsGoneOrEmpty) {
  const fakes::TempTree tree;
  tree.put("/policy.lua", "return 1");
  ScriptFile script(tree.at("/policy.lua"));
  tree.remove("/policy.lua");
  EXPECT_FALSE(script.reload());
  tree.put("/policy.lua", "");
  EXPECT_FALSE(script.take_changes());
  EXPECT_EQ(script.text(), "return 1");
  tree.put("/policy.lua", "return 2");
  EXPECT_TRUE(script.take_changes());
}

TEST(ScriptFile, IsBounded) {
  const fakes::TempTree tree;
  tree.put("/policy.lua", std::string(kMaxScriptBytes, ' '));
  ScriptFile script(tree.at("/policy.lua"));
  EXPECT_EQ(script.text().size(), kMaxScriptBytes);
  tree.put("/large.lua", std::string(kMaxScriptBytes + 1, ' '));
  EXPECT_THROW(ScriptFile(tree.at("/large.lua")), std::runtime_error);
  // Grown while it runs, it becomes a script that says what is wrong when it is run.
  tree.put("/policy.lua", std::string(kMaxScriptBytes + 1, ' '));
  EXPECT_TRUE(script.take_changes());
  EXPECT_EQ(script.text().substr(0, 6), "error(");
  EXPECT_NE(script.text().find("262144 bytes"), std::string_view::npos);
}

TEST(ScriptFile, NamesTheFileItCannotRead) {
  const fakes::TempTree tree;
  const std::string path = tree.at("/missing.lua");
  try {
    const ScriptFile script(path);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("No such file"), std::string::npos) << error.what();
  }
  EXPECT_THROW(ScriptFile(tree.root()), std::runtime_error);  // a folder
}

TEST(ScriptFile, DoesNotWaitForAPipe) {
  const fakes::TempTree tree;
  ASSERT_EQ(::mkfifo(tree.at("/policy.lua").c_str(), 0600), 0);
  EXPECT_EQ(ScriptFile(tree.at("/policy.lua")).text(), "");
}

}  // namespace
}  // namespace gearshift
