#include "cli/command_words.h"

#include <gtest/gtest.h>

#include "cli/one_value_each.h"

namespace gearshift {
namespace {

// What is kept of a command line, as words of the command.
struct Typed {
  bool json = false;
  bool overwrite = false;
  std::string policy;
  std::vector<std::string> faults;
  std::vector<int> batch_sizes;

  std::string parse(const std::string& line) {
    *this = {};
    CLI::App app;
    CLI::App* command = app.add_subcommand("simulate", "");
    command->add_flag("--json", json, "");
    command->add_flag("--overwrite", overwrite, "");
    command->add_option("--policy", policy, "");
    command->add_option("--fault", faults, "");
    command->add_option("--batch-sizes", batch_sizes, "")->delimiter(',');
    take_one_value_each(app);
    app.parse(line, true);
    return command_words(*command);
  }
};

TEST(CommandWords, AreTheOptionsThatWereGiven) {
  Typed typed;
  EXPECT_EQ(typed.parse("gearshift simulate"), "gearshift simulate");
  EXPECT_EQ(typed.parse("gearshift simulate --policy maxn"), "gearshift simulate --policy maxn");
}

TEST(CommandWords, HaveNoValueBehindAFlag) {
  Typed typed;
  EXPECT_EQ(typed.parse("gearshift simulate --json --policy maxn"),
            "gearshift simulate --json --policy maxn");
  EXPECT_EQ(typed.parse("gearshift simulate --overwrite=false"),
            "gearshift simulate --overwrite=false");
}

TEST(CommandWords, AreQuotedForAShell) {
  Typed typed;
  EXPECT_EQ(typed.parse("gearshift simulate --policy \"my policies/a.lua\""),
            "gearshift simulate --policy 'my policies/a.lua'");
  EXPECT_EQ(typed.parse("gearshift simulate --policy=-a.lua"),
            "gearshift simulate --policy=-a.lua");
}

TEST(CommandWords, GiveTheSameAgain) {
  Typed typed;
  const std::string words = typed.parse(
      "gearshift simulate --json --fault reading_stuck@5s..15s --policy=-maxn "
      "--fault cap_steps:20W@30s --batch-sizes 8,16");
  const Typed once = typed;
  EXPECT_EQ(typed.parse(words), words);
  EXPECT_EQ(typed.json, once.json);
  EXPECT_EQ(typed.policy, "-maxn");
  EXPECT_EQ(typed.faults, (std::vector<std::string>{"reading_stuck@5s..15s", "cap_steps:20W@30s"}));
  EXPECT_EQ(typed.faults, once.faults);
  EXPECT_EQ(typed.batch_sizes, once.batch_sizes);
}

}  // namespace
}  // namespace gearshift
