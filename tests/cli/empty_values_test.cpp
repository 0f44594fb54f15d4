#include "cli/empty_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/run_options.h"

namespace gearshift {
namespace {

class EmptyValues : public testing::Test {
 protected:
  EmptyValues() {
    CLI::App* run = app_.add_subcommand("run");
    add_run_flags(*run, options_);
    app_.add_subcommand("cap")->add_option("power", power_, "20W, or none")->required();
    refuse_empty_values(app_);
  }

  // What the words are refused for; "" where they are taken.
  std::string error(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    try {
      app_.parse(words);
    } catch (const CLI::Error& error) {
      return error.what();
    }
    return "";
  }

  CLI::App app_;
  RunOptions options_;
  std::string power_;
};

TEST_F(EmptyValues, AreNamedWithWhatToGive) {
  EXPECT_EQ(error({"run", "--power", ""}),
            "--power: empty, as of a variable that is not set; give a value, or leave it out: "
            "power cap of the board, for example 30W");
  EXPECT_EQ(error({"cap", ""}),
            "power: empty, as of a variable that is not set; give a value: 20W, or none");
}

TEST_F(EmptyValues, AreRefusedOfEveryOption) {
  for (const CLI::Option* option : app_.get_subcommand("run")->get_options()) {
    const std::string name = option->get_name();
    if (option->get_items_expected_max() == 0) continue;
    EXPECT_EQ(error({"run", name, ""}).find(name + ": empty"), 0U) << name;
    EXPECT_EQ(error({"run", name, "7"}), "") << name;
  }
}

TEST_F(EmptyValues, LeaveFlagsWithoutAValueAlone) {
  EXPECT_EQ(error({"run", "--json", "--power", "30W"}), "");
  EXPECT_TRUE(options_.json);
}

}  // namespace
}  // namespace gearshift
