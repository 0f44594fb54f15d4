#include "cli/run_options.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>

namespace gearshift {
namespace {

class RunConfig : public testing::Test {
 protected:
  RunConfig() { add_run_flags(command_, options_); }

  void parse(const std::string& flags) { command_.parse(flags); }
  void apply(std::string_view text) {
    options_.config = "run.toml";
    apply_run_config(text, command_, options_);
  }
  std::string error(std::string_view text) {
    try {
      apply(text);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "no error";
  }

  CLI::App command_;
  RunOptions options_;
};

TEST_F(RunConfig, FillsInWhatNoFlagHasSet) {
  parse("--power 30W");
  apply("power = \"20W\"\npolicy = \"a.lua\"\nseed = 7\non-exit = \"keep\"\n");
  EXPECT_EQ(options_.power, "30W") << "the flag wins";
  EXPECT_EQ(options_.policy, "a.lua");
  EXPECT_EQ(options_.seed, 7U);
  const RunPlan plan = make_run_plan(options_);
  EXPECT_EQ(plan.power_mw, 30000);
  EXPECT_EQ(plan.on_exit, OnExit::keep);
}

// Of the file that every service is installed with, the lines that are a comment there too.
TEST_F(RunConfig, TheShippedExampleIsOfNightsAlone) {
  std::ifstream file(GEARSHIFT_SOURCE_DIR "/packaging/systemd/run.toml");
  std::string text;
  for (std::string line; std::getline(file, line);) {
    const bool example = line.starts_with("# [") || line.find(" = ") != std::string::npos;
    text += (example && line.starts_with("# ") ? line.substr(2) : line) + "\n";
  }
  parse("");
  apply(text);
  LocalTime noon;
  noon.since_midnight = std::chrono::hours(12);
  EXPECT_EQ(timetable_cap(options_.timetable, noon), std::nullopt);
  LocalTime evening;
  evening.since_midnight = std::chrono::hours(19);
  EXPECT_EQ(timetable_cap(options_.timetable, evening), 20000);
}

// A daemon of this machine may be anybody's: its port is free to every user.
TEST_F(RunConfig, AsksNoUpsUnlessTold) {
  parse("--battery 10Wh");
  EXPECT_FALSE(make_run_plan(options_).battery->nut);
  options_.nut = "127.0.0.1";
  EXPECT_TRUE(make_run_plan(options_).battery->nut);
}

TEST_F(RunConfig, TakesTheGoalFromFlagsAndFile) {
  parse("--energy-weight 0.25");
  apply(
      "objective = \"weighted\"\nenergy-weight = 0.75\nenergy-per-sample = \"500mJ\"\n"
      "rate = 60\nlatency = \"100ms\"\n");
  const Goal goal = make_run_plan(options_).goal;
  EXPECT_EQ(goal.objective, Objective::weighted);
  EXPECT_EQ(goal.energy_weight, 0.25) << "the flag wins";
  EXPECT_EQ(goal.energy_j, 0.5);
  EXPECT_EQ(goal.arrivals_per_s, 60);
  EXPECT_EQ(goal.latency, std::chrono::milliseconds(100));
}

TEST_F(RunConfig, TakesEveryLongFlagButItself) {
  parse("");
  apply("overwrite = true\njson = true\n");
  EXPECT_TRUE(options_.overwrite);
  EXPECT_TRUE(options_.json);
  EXPECT_EQ(error("overwrite = 1"), "run.toml:1: overwrite must be true or false");
  for (const CLI::Option* option : command_.get_options()) {
    const std::string name = option->get_lnames().front();
    if (name == "help" || name == "config") continue;
    EXPECT_EQ(error(name + " = [[]]").find("unknown key"), std::string::npos) << name;
  }
}

TEST_F(RunConfig, ReadsATimetable) {
  apply(
      "[[schedule]]\nat = \"08:00\"\ndays = [\"mon\", \"sun\"]\npower = \"20W\"\n"
      "[[schedule]]\nat = \"18:30:15\"\npower = \"none\"\n");
  ASSERT_EQ(options_.timetable.size(), 2U);
  EXPECT_EQ(options_.timetable[0].days, 0b100'0001);
  EXPECT_EQ(options_.timetable[0].at, std::chrono::hours(8));
  EXPECT_EQ(options_.timetable[0].power_mw, 20'000);
  EXPECT_EQ(options_.timetable[1].days, kEveryDay);
  EXPECT_EQ(options_.timetable[1].at, std::chrono::seconds(66615));
  EXPECT_EQ(options_.timetable[1].power_mw, std::nullopt);
  EXPECT_TRUE(options_.schedule.empty());
}

TEST_F(RunConfig, RefusesATimetableThatIsNone) {
  const auto step = [](const std::string& lines) {
    return "[[schedule]]\npower = \"20W\"\n" + lines;
  };
  EXPECT_NE(error(step("at = \"24:00\"")).find("'24:00'"), std::string::npos);
  EXPECT_NE(error(step("at = \"8:00\"")).find("00:00 to 23:59:59"), std::string::npos);
  EXPECT_NE(error(step("at = \"08:00\"\ndays = [\"monday\"]")).find("'monday'"), std::string::npos);
  EXPECT_NE(error(step("at = \"08:00\"\ndays = []")).find("every day"), std::string::npos);
  EXPECT_NE(error(step("days = [\"mon\"]")).find("days needs at"), std::string::npos);
  EXPECT_NE(error(step("at = \"08:00\"\nafter = \"5s\"")).find("not both"), std::string::npos);
}

TEST_F(RunConfig, ReadsASchedule) {
  apply(
      "[[schedule]]\nafter = \"60s\"\npower = \"20W\"\n[[schedule]]\nafter = \"2m\"\n"
      "power = \"none\"\n");
  ASSERT_EQ(options_.schedule.size(), 2U);
  EXPECT_EQ(options_.schedule[0].after, std::chrono::seconds(60));
  EXPECT_EQ(options_.schedule[0].power_mw, 20000);
  EXPECT_EQ(options_.schedule[1].power_mw, std::nullopt);
}

TEST_F(RunConfig, ErrorsNameFileLineKeyAndTheWayOut) {
  const struct {
    const char* text;
    const char* words;
  } cases[] = {
      {"powr = \"30W\"", "run.toml:1: unknown key powr"},
      {"\npower = 30", "run.toml:2: power must be a string"},
      {"power = \"\"", "run.toml:1: power is empty; give a value, or leave the key out"},
      {"prior = [\"a.csv\", \"\"]", "run.toml:1: prior is empty"},
      {"seed = -1", "run.toml:1: seed must be an integer, 0 or more"},
      {"energy-weight = \"much\"", "run.toml:1: energy-weight must be a number"},
      {"schedule = 3", "run.toml:1: schedule must be [[schedule]] tables"},
      {"[[schedule]]\nafter = \"60s\"\npower = \"None\"",
       "run.toml:3: power: 'None': give a power of 10mW to 100 kW, like 30W, 25.5W or "
       "800mW, "
       "or none to lift the cap"},
      {"[[schedule]]\nafter = \"1s\"", "run.toml:1: [[schedule]] needs power"},
      {"[[schedule]]\npower = \"20W\"", "run.toml:1: [[schedule]] needs at, for example at = "},
      {"[[schedule]]\nafter = \"1 eon\"\npower = \"1W\"", "run.toml:2: after: "},
      {"[[schedule]]\nwhen = \"1s\"", "run.toml:2: unknown key when"},
      {"power = ", "run.toml:1: "},
  };
  for (const auto& entry : cases) {
    EXPECT_EQ(error(entry.text).rfind(entry.words, 0), 0U)
        << entry.text << ": " << error(entry.text);
  }
}

TEST_F(RunConfig, SmallNumbersAreTheFlags) {
  apply("rate = 0.00005\nenergy-weight = 0.00001\nobjective = \"weighted\"");
  EXPECT_EQ(options_.goal.rate, "0.00005");
  EXPECT_EQ(options_.goal.energy_weight, "0.00001");
  apply("rate = 30");
  EXPECT_EQ(options_.goal.rate, "30");
  apply("rate = 12.5");
  EXPECT_EQ(options_.goal.rate, "12.5");
  options_.goal.energy_weight.clear();
  apply("rate = 0.00005\nobjective = \"latency\"");
  EXPECT_DOUBLE_EQ(make_run_plan(options_).goal.arrivals_per_s, 0.00005);
}

TEST_F(RunConfig, ATruthIsNoNumber) {
  for (const char* const name : {"seed", "epochs"}) {
    EXPECT_EQ(error(std::string(name) + " = true"),
              "run.toml:1: " + std::string(name) + " must be an integer, 0 or more");
  }
  EXPECT_EQ(error("seed = 1.0"), "run.toml:1: seed must be an integer, 0 or more");
  EXPECT_EQ(error("rate = true"), "run.toml:1: rate must be a number");
}

TEST_F(RunConfig, WhatAPlanRefusesIsNamedByFileAndLineWhereTheFileHasIt) {
  const auto refused = [&](const std::string& flags, std::string_view text) {
    CLI::App command;
    RunOptions options;
    add_run_flags(command, options);
    command.parse(flags);
    options.config = "run.toml";
    apply_run_config(text, command, options);
    try {
      make_run_plan(options);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused("", "\npower = \"20\"").rfind("run.toml:2: power: '20': give a power", 0), 0U)
      << refused("", "\npower = \"20\"");
  EXPECT_EQ(refused("--power 20", "\npower = \"30W\"").rfind("--power: '20': give a power", 0), 0U);
  EXPECT_EQ(refused("", "on-exit = \"x\"").rfind("run.toml:1: on-exit 'x': allowed are", 0), 0U);
  EXPECT_EQ(refused("--power 30W", "charge = \"50%\""), refused("--power 30W --charge 50%", ""))
      << "what names several flags names no line";
  EXPECT_EQ(refused("", "\noverwrite = true").rfind("run.toml:2: overwrite belongs to", 0), 0U);
  EXPECT_NE(refused("--battery 10Wh --until 0s", "").find("--until '0s'"), std::string::npos);
  EXPECT_EQ(refused("", "rate = inf").rfind("run.toml:1: rate: 'inf'", 0), 0U)
      << refused("", "rate = inf");
}

// The scripts that refuse throughput would fail where nobody asked for it.
TEST_F(RunConfig, TheObjectiveIsByDefaultOfTheUsualPolicyAlone) {
  EXPECT_TRUE(make_run_plan(options_).goal.objective_by_default);
  options_.policy = "roofline";
  EXPECT_FALSE(make_run_plan(options_).goal.objective_by_default);
  options_.policy = RunOptions().policy;
  apply("objective = \"time\"\n");
  EXPECT_FALSE(make_run_plan(options_).goal.objective_by_default);
}

TEST_F(RunConfig, AFolderIsNoConfig) {
  options_.config = testing::TempDir();
  EXPECT_THROW(read_run_config(command_, options_), std::runtime_error);
}

TEST_F(RunConfig, APlanRefusesWhatItDoesNotKnow) {
  options_.policy = "a.lua";
  for (std::string RunOptions::*option :
       {&RunOptions::power, &RunOptions::duration, &RunOptions::on_exit}) {
    RunOptions wrong = options_;
    wrong.*option = "nonsense";
    EXPECT_THROW(make_run_plan(wrong), std::runtime_error);
  }
  RunOptions alone = options_;
  alone.nut = "ups@127.0.0.1";
  EXPECT_THROW(make_run_plan(alone), std::runtime_error) << "of no battery";
  alone = options_;
  alone.charge = "50%";
  EXPECT_THROW(make_run_plan(alone), std::runtime_error) << "of no battery";
  for (std::string BatteryFlags::*option : {&BatteryFlags::reserve, &BatteryFlags::checkpoint}) {
    RunOptions unused = options_;
    unused.battery_goal.*option = "50%";
    EXPECT_THROW(make_run_plan(unused), std::runtime_error) << "of no battery";
  }
  EXPECT_EQ(RunOptions().policy, "bayes") << "what is best by docs/evaluation.md";
  options_.policy.clear();
  EXPECT_THROW(make_run_plan(options_), std::runtime_error) << "no policy";
}

}  // namespace
}  // namespace gearshift
