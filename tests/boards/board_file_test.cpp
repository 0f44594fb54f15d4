#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "boards/board_description.h"
#include "tests/fakes/built_in_board.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

// A board file with everything that is needed and nothing else; tests replace parts of it.
constexpr std::string_view kSmallest = R"(id = "bench"
name = "Bench board"
apply_timeout_ms = 1000
[match]
compatible = ["acme,bench"]
[[knob]]
name = "cpu_mhz"
driver = "cpufreq"
path = "/sys/devices/system/cpu/cpufreq"
values = [100.5, 200]
[power]
sources = ["rapl"]
window_ms = 430
period_ms = 100
stale_after_ms = 1000
plausible_max_w = 150
)";

std::string replaced(std::string_view from, std::string_view to) {
  std::string text(kSmallest);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(BoardFile, TheSmallestOneIsUsable) {
  const BoardDescription board = parse_board(kSmallest, "bench.toml");
  EXPECT_EQ(board.text, kSmallest) << "a recording keeps it, whatever is in the file by then";
  EXPECT_EQ(board.id, "bench");
  EXPECT_EQ(board.source, "bench.toml");
  EXPECT_EQ(board.compatible, std::vector<std::string>{"acme,bench"});
  EXPECT_TRUE(board.l4t_majors.empty());
  EXPECT_EQ(board.apply_timeout, milliseconds(1000));
  EXPECT_EQ(board.power.window, milliseconds(430));
  EXPECT_EQ(board.power.averaging, milliseconds(0)) << "RAPL: no reading knows what was before";
  EXPECT_EQ(board.power.period, milliseconds(100));
  EXPECT_EQ(board.power.stale_after, milliseconds(1000));
  EXPECT_EQ(board.power.plausible_max_mw, 150'000);
  EXPECT_FALSE(board.power.reads_block);
  EXPECT_FALSE(board.model.has_value());
  ASSERT_EQ(board.knobs.size(), 1u);
  const Knob& knob = board.knobs[0].knob;
  EXPECT_EQ(knob.unit, Unit::khz) << "the driver decides";
  EXPECT_EQ(knob.knob_class, KnobClass::clock);
  EXPECT_TRUE(knob.follows_cores);
  EXPECT_EQ(knob.values, (std::vector<std::int64_t>{100'500, 200'000})) << "kHz of MHz";
}

TEST(BoardFile, TheDriverAndNotTheNameTellsThatAKnobFollowsCores) {
  const auto follows = [](std::string_view from, std::string_view to) {
    return parse_board(replaced(from, to), "bench.toml").knobs.at(0).knob.follows_cores;
  };
  EXPECT_TRUE(follows("cpu_mhz", "big_mhz"));
  EXPECT_FALSE(follows("\"cpufreq\"", "\"emc_bpmp\""));
}

TEST(BoardFile, AgxOrinIsWhatNvidiaSays) {
  const BoardDescription* board = &built_in_board("jetson-agx-orin");
  EXPECT_EQ(board->source, "boards/jetson-agx-orin.toml");
  EXPECT_EQ(board->l4t_majors, std::vector<int>{36});
  const KnobSpace space = board->knob_space();
  ASSERT_EQ(space.size(), 4u);
  EXPECT_EQ(space.describe(space.lowest()), "cpu_cores=1 cpu_mhz=115.2 gpu_mhz=306 mem_mhz=204");
  EXPECT_EQ(space.describe(space.highest()),
            "cpu_cores=12 cpu_mhz=2201.6 gpu_mhz=1300.5 mem_mhz=3199");
  EXPECT_EQ(space.knobs[0].knob_class, KnobClass::hotplug);
  EXPECT_EQ(space.knobs[3].knob_class, KnobClass::memory);
  EXPECT_TRUE(space.knobs[0].follows_cores);
  EXPECT_TRUE(space.knobs[1].follows_cores);
  EXPECT_FALSE(space.knobs[2].follows_cores);
  EXPECT_FALSE(space.knobs[3].follows_cores);
  EXPECT_EQ(space.knobs[0].values.size(), 12u);
  EXPECT_EQ(space.knobs[1].values.size(), 29u);
  for (std::size_t i = 0; i < 28; ++i) {
    EXPECT_EQ(space.knobs[1].values[i], 115'200 + static_cast<std::int64_t>(i) * 76'800);
  }
  EXPECT_EQ(space.knobs[2].values.size(), 11u);
  EXPECT_EQ(space.knobs[3].values,
            (std::vector<std::int64_t>{204'000, 665'600, 2'133'000, 3'199'000}));
  EXPECT_EQ(board->knobs[2].device_names, (std::vector<std::string>{"gpu", "ga10b"}));
  ASSERT_EQ(board->power.rails.size(), 4u);
  int in_total = 0;
  for (const RailDescription& rail : board->power.rails) {
    in_total += rail.sign;
    EXPECT_EQ(rail.sign, rail.label == "VDDQ_VDD2_1V8AO" ? 0 : 1) << "it is inside VIN_SYS_5V0";
  }
  EXPECT_EQ(in_total, 3);
  EXPECT_EQ(board->power.rounding_mw, 430) << "half of 380, 380 and 100";
  EXPECT_EQ(board->power.window, milliseconds(430));
  EXPECT_EQ(board->power.averaging, milliseconds(430));
  EXPECT_EQ(board->power.plausible_max_mw, 150'000);
  EXPECT_FALSE(board->power.reads_block);
  ASSERT_TRUE(board->model.has_value());
  EXPECT_EQ(board->reference_workload, "resnet18");
  for (const char* name :
       {"resnet18", "mobilenet_v3", "lstm", "resnet18-infer", "mobilenet_v3-infer"}) {
    EXPECT_TRUE(board->workloads.contains(name)) << name;
  }
}

TEST(BoardFile, HostFitsEveryMachineAndLabelsItsEstimateLast) {
  const BoardDescription* board = &built_in_board("host");
  EXPECT_TRUE(board->compatible.empty());
  ASSERT_EQ(board->knobs.size(), 2u);
  EXPECT_EQ(board->knobs[0].driver, KnobDriver::cgroup_cpuset);
  EXPECT_EQ(board->knobs[1].driver, KnobDriver::cgroup_quota);
  EXPECT_EQ(board->knobs[1].knob.unit, Unit::percent);
  EXPECT_EQ(board->power.sources,
            (std::vector<PowerSource>{PowerSource::rapl, PowerSource::cpu_time_estimate}));
  EXPECT_GT(board->power.estimate_core_w, 0);
}

struct Bad {
  const char* from;
  const char* to;
  const char* where;  // file and line of the error
  const char* says;   // a part of the rest
};

const Bad kBad[] = {
    {"id = \"bench\"", "id = ", "bench.toml:1", "not TOML"},
    {"id = \"bench\"", "id = \"Bench\"", "bench.toml:1", "id = 'Bench': must start with a lower"},
    {"id = \"bench\"", "id = \"\"", "bench.toml:1", "printable ASCII"},
    {"id = \"bench\"", "", "bench.toml:1", "id: is missing"},
    {"id = \"bench\"", "id = 7", "bench.toml:1", "id = 7: must be a text"},
    {"id = \"bench\"", "id = \"bench\"\nboard = 1", "bench.toml:2",
     "board = 1: no such key here; the keys are aliases, apply_timeout_ms, gpu, id, knob, match, "
     "model, name, power, published_mode, thermal_zones, workload"},
    {"\"Bench board\"", "\"a\\u0007\"", "bench.toml:2", "printable ASCII"},
    {"apply_timeout_ms = 1000", "apply_timeout_ms = 0", "bench.toml:3",
     "must be a number from 1 to 600000"},
    {"apply_timeout_ms = 1000", "apply_timeout_ms = 600001", "bench.toml:3", "600000"},
    {"apply_timeout_ms = 1000", "apply_timeout_ms = nan", "bench.toml:3", "must be a number"},
    {"apply_timeout_ms = 1000", "apply_timeout_ms = \"1s\"", "bench.toml:3", "must be a number"},
    {"[match]", "[[match]]", "bench.toml:4", "match = an array: must be a table, [match]"},
    {"[\"acme,bench\"]", "\"acme,bench\"", "bench.toml:5", "must be an array"},
    {"[\"acme,bench\"]", "[1]", "bench.toml:5", "match.compatible[0] = 1"},
    {"[\"acme,bench\"]", "[\"acme,bench\"]\nl4t_majors = [0]", "bench.toml:6",
     "match.l4t_majors[0] = 0: must be a whole number from 1 to 999"},
    {"[\"acme,bench\"]", "[]\nl4t_majors = [36]", "bench.toml:6", "means nothing without"},
    {"\"cpu_mhz\"", "\"cpu_khz\"", "bench.toml:7",
     "knob[0].name = 'cpu_khz': must end in \"_mhz\" for the driver cpufreq"},
    {"\"cpu_mhz\"", "\"cpu mhz\"", "bench.toml:7", "lower-case"},
    {"\"cpufreq\"", "\"cpufrequency\"", "bench.toml:8",
     "must be one of \"cpu_hotplug\" \"cpufreq\" \"gpu_devfreq\" \"emc_bpmp\""},
    {"\"cpufreq\"", "\"gpu_devfreq\"", "bench.toml:6", "knob[0].device_names: must name"},
    {"\"/sys/devices/system/cpu/cpufreq\"", "\"sys\"", "bench.toml:9", "absolute path"},
    {"\"/sys/devices/system/cpu/cpufreq\"", "\"/sys/..\"", "bench.toml:9", "without \"..\""},
    {"[100.5, 200]", "[]", "bench.toml:10", "at least one number"},
    {"[100.5, 200]", "[200, 100.5]", "bench.toml:10",
     "knob[0].values[1] = 100.5: must be more than the value before it (200)"},
    {"[100.5, 200]", "[200, 200]", "bench.toml:10", "must be more than"},
    {"[100.5, 200]", "[0, 200]", "bench.toml:10", "must be a number above 0, at most 20000"},
    {"[100.5, 200]", "[20000.001]", "bench.toml:10", "at most 20000"},
    {"[100.5, 200]", "[100.0005]", "bench.toml:10", "must be a multiple of 0.001"},
    {"[100.5, 200]", "[inf]", "bench.toml:10", "must be a number above 0"},
    {"[100.5, 200]", "[\"100\"]", "bench.toml:10", "values[0] = '100'"},
    {"[100.5, 200]", "[100.5, 200]\ndevice_names = [\"gpu\"]", "bench.toml:11",
     "knob[0].device_names = an array: means nothing without the driver gpu_devfreq"},
    {"[power]", "[power]\nfan = true", "bench.toml:12", "power.fan = true: no such key"},
    {"[\"rapl\"]", "[]", "bench.toml:12", "must name at least one source"},
    {"[\"rapl\"]", "[\"smc\"]", "bench.toml:12", "'smc' is no source"},
    {"[\"rapl\"]", "[\"cpu_time_estimate\"]\nestimate_core_w = 1", "bench.toml:11",
     "power.estimate_idle_w: must be above 0"},
    {"[\"rapl\"]", "[\"cpu_time_estimate\"]\nestimate_idle_w = 1", "bench.toml:11",
     "power.estimate_core_w: must be above 0"},
    {"[\"acme,bench\"]", "[\"acme,bench\"]\nnvml = true", "bench.toml:6",
     "match.nvml = true: means nothing beside compatible"},
    {"name = \"Bench board\"", "name = \"Bench board\"\ngpu = \"0\"", "bench.toml:3",
     "gpu = '0': means nothing without"},
    {"[\"rapl\"]", "[\"ina3221\"]", "bench.toml:11", "at least one [[power.rail]] with sign = 1"},
    {"window_ms = 430", "window_ms = 0.5", "bench.toml:13", "power.window_ms = 0.5"},
    {"stale_after_ms = 1000", "stale_after_ms = 99", "bench.toml:15",
     "must not be less than period_ms"},
    {"plausible_max_w = 150\n", "plausible_max_w = 150\nreads_block = 1\n", "bench.toml:17",
     "must be true or false"},
    {"plausible_max_w = 150\n", "plausible_max_w = 150\n[[power.rail]]\nlabel = \"A\"\nsign = 2\n",
     "bench.toml:19", "power.rail[0].sign = 2: must be a whole number from 0 to 1"},
    {"plausible_max_w = 150\n",
     "plausible_max_w = 150\n[[power.rail]]\nlabel = \"A\"\nsign = 1\nstep_mw = -1\n",
     "bench.toml:20", "power.rail[0].step_mw = -1: must be a number from 0 to 100000"},
    {"plausible_max_w = 150\n",
     "plausible_max_w = 150\n[[power.rail]]\nlabel = \"A\"\nsign = 1\n[[power.rail]]\nlabel = "
     "\"A\"\nsign = 0\n",
     "bench.toml:21", "power.rail[1].label = 'A': is the label of another rail too"},
    {"plausible_max_w = 150\n", "plausible_max_w = 150\n[model]\nkap = 1\n", "bench.toml:17",
     "needs a knob cpu_cores"},
    {"plausible_max_w = 150\n", "plausible_max_w = 150\n[workload.lstm]\nkind = \"train\"\n",
     "bench.toml:17", "workload.lstm.A: is missing"},
    {"plausible_max_w = 150\n", "plausible_max_w = 150\n[workload.lstm]\nkind = \"both\"\n",
     "bench.toml:18", "must be one of \"train\" \"infer\""},
};

TEST(BoardFile, ErrorsNameFileLineKeyValueAndWhatIsAllowed) {
  for (const Bad& bad : kBad) {
    SCOPED_TRACE(bad.to);
    try {
      parse_board(replaced(bad.from, bad.to), "bench.toml");
      ADD_FAILURE() << "accepted";
    } catch (const BoardFileError& error) {
      const std::string what = error.what();
      EXPECT_EQ(what.substr(0, what.find(": ")), bad.where) << what;
      EXPECT_NE(what.find(bad.says), std::string::npos) << what;
    }
  }
}

std::string with_knobs(std::size_t count) {
  std::string knobs;
  for (std::size_t i = 1; i < count; ++i) {
    knobs += "[[knob]]\nname = \"cpu" + std::to_string(i) +
             "_mhz\"\ndriver = \"cpufreq\"\npath = \"/sys/" + std::to_string(i) +
             "\"\nvalues = [1]\n";
  }
  return replaced("[power]", knobs + "[power]");
}

std::string with_values(std::size_t count) {
  std::string values;
  for (std::size_t i = 1; i <= count; ++i) values += std::to_string(i) + ",";
  return replaced("[100.5, 200]", "[" + values + "]");
}

TEST(BoardFile, HasLimitsAndTheyAreReachable) {
  EXPECT_EQ(parse_board(with_knobs(kMaxKnobs), "f").knobs.size(), kMaxKnobs);
  EXPECT_THROW(parse_board(with_knobs(kMaxKnobs + 1), "f"), BoardFileError);
  EXPECT_EQ(parse_board(with_values(256), "f").knobs[0].knob.values.size(), 256u);
  EXPECT_THROW(parse_board(with_values(257), "f"), BoardFileError);
  const std::string padded = std::string(kSmallest) + "#";
  EXPECT_NO_THROW(parse_board(padded + std::string(65536 - padded.size(), 'x'), "f"));
  EXPECT_THROW(parse_board(padded + std::string(65537 - padded.size(), 'x'), "f"), BoardFileError);
}

TEST(BoardFile, TwoKnobsOfOneNameAreRefused) {
  const std::string twice = replaced(
      "[power]",
      "[[knob]]\nname = \"cpu_mhz\"\ndriver = \"cpufreq\"\npath = \"/sys\"\nvalues = [1]\n[power]");
  try {
    parse_board(twice, "f");
    ADD_FAILURE() << "accepted";
  } catch (const BoardFileError& error) {
    EXPECT_STREQ(error.what(), "f:12: knob[1].name = 'cpu_mhz': is the name of another knob too");
  }
}

std::string refusal(const std::string& text) {
  try {
    parse_board(text, "f");
  } catch (const BoardFileError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(BoardFile, TwoKnobsThatSetTheSameAreRefused) {
  const auto with = [](std::string_view more) {
    return replaced("[power]", std::string(more) + "[power]");
  };
  const std::string knob =
      "[[knob]]\nname = \"big_mhz\"\ndriver = \"cpufreq\"\nvalues = [1]\npath = ";
  EXPECT_EQ(refusal(with(knob + "\"/sys/devices/system/cpu/cpufreq\"\n")),
            "f:15: knob[1].path = '/sys/devices/system/cpu/cpufreq': big_mhz and cpu_mhz would "
            "both set it through cpufreq");
  EXPECT_NE(refusal(with(knob + "\"/sys//devices/./system/cpu/cpufreq/\"\n")), "accepted");
  EXPECT_EQ(refusal(with(knob + "\"/sys/devices/system/cpu/little\"\n")), "accepted");
  const std::string gpu =
      "[[knob]]\nname = \"gpu_mhz\"\ndriver = \"gpu_devfreq\"\nvalues = [1]\n"
      "path = \"/sys/class/devfreq\"\ndevice_names = [\"gpu\", \"ga10b\"]\n";
  const std::string other =
      "[[knob]]\nname = \"other_mhz\"\ndriver = \"gpu_devfreq\"\nvalues = [1]\n"
      "path = \"/sys/class/devfreq\"\ndevice_names = ";
  EXPECT_EQ(refusal(with(gpu + other + "[\"nvdec\"]\n")), "accepted") << "another device";
  EXPECT_NE(refusal(with(gpu + other + "[\"gv11b\", \"gpu\"]\n")), "accepted");
  const std::string watts = "driver = \"nvml_power_limit\"\nvalues = [100]\n";
  EXPECT_NE(
      refusal(with("[[knob]]\nname = \"a_w\"\n" + watts + "[[knob]]\nname = \"b_w\"\n" + watts))
          .find("f:17: knob[2].driver = 'nvml_power_limit': b_w and a_w would both set it"),
      std::string::npos);
}

TEST(BoardFile, NoKnobAtAllIsRefused) {
  std::string text(kSmallest);
  const std::size_t from = text.find("[[knob]]");
  text.erase(from, text.find("[power]") - from);
  EXPECT_THROW(parse_board(text, "f"), BoardFileError);
}

TEST(BoardFile, MoreModesThanTheDaemonCanHoldAreRefused) {
  std::string values;
  for (int i = 1; i <= 64; ++i) values += std::to_string(i) + ",";
  std::string text = replaced("[100.5, 200]", "[" + values + "]");
  for (int knob = 0; knob < 2; ++knob) {
    const std::string name = "a" + std::to_string(knob);
    text.insert(text.find("[power]"), "[[knob]]\nname = \"" + name +
                                          "_mhz\"\ndriver = \"cpufreq\"\npath = \"/sys/" + name +
                                          "\"\nvalues = [" + values + "]\n");
  }
  EXPECT_EQ(bounded_mode_count(parse_board(text, "f").knob_space()), kMaxModes) << "2^18 is held";
  text.replace(text.find("64,]"), 4, "64, 65]");
  try {
    parse_board(text, "f");
    ADD_FAILURE() << "accepted";
  } catch (const BoardFileError& error) {
    EXPECT_NE(std::string(error.what()).find("cpu_mhz 65, a0_mhz 64, a1_mhz 64"), std::string::npos)
        << error.what();
  }
}

// A board with a model; `more` is added to its workload of inference.
std::string modelled_board(std::string_view name, std::string_view more = "") {
  const std::string model =
      "[[knob]]\nname = \"cpu_cores\"\ndriver = \"cpu_hotplug\"\npath = \"/sys\"\nvalues = [1]\n"
      "[[knob]]\nname = \"gpu_mhz\"\ndriver = \"cpufreq\"\npath = \"/sys\"\nvalues = [1]\n"
      "[[knob]]\nname = \"mem_mhz\"\ndriver = \"emc_bpmp\"\npath = \"/sys\"\nvalues = [1]\n"
      "[model]\nreference_workload = \"" +
      std::string(name) +
      "\"\nkap = 0\np = 1\nq = 1\nr = 1\nJ = 0\ns = 0\ns2 = 0\np0 = 0\nm0 = 0\nd = 0\nci = 0\n"
      "cc = 0\ngi = 0\nfc0 = 0\nsvc = 0\nfg0 = 0\nsvg = 0\n"
      "[workload.resnet18-infer]\nkind = \"infer\"\nworkers = 1\nkg = 1\nA0 = 1\nA1 = 1\n"
      "B0 = 1\nB1 = 1\nL0 = 1\nL1 = 1\nP0 = 1\nP1 = 1\nO0 = 1\nO1 = 1\n" +
      std::string(more) +
      "[workload.lstm]\nkind = \"train\"\nreference_batch = 16\na0 = 1\nworkers = 1\nkg = 1\n"
      "A = 1\nB = 1\nL = 1\nP = 1\nO = 1\n";
  return replaced("[power]", model + "[power]");
}

TEST(BoardFile, AReferenceWorkloadMustBeAWorkloadOfTheFile) {
  EXPECT_EQ(parse_board(modelled_board("lstm"), "f").reference_workload, "lstm");
  EXPECT_EQ(parse_board(modelled_board("resnet18-infer"), "f").reference_workload,
            "resnet18-infer");
  try {
    parse_board(modelled_board("alexnet"), "f");
    ADD_FAILURE() << "accepted";
  } catch (const BoardFileError& error) {
    EXPECT_NE(std::string(error.what()).find("model.reference_workload = 'alexnet': must be"),
              std::string::npos)
        << error.what();
  }
}

TEST(BoardFile, AServerMayWaitForItsSamples) {
  const auto load_of = [](const BoardDescription& board) {
    return board.workloads.at("resnet18-infer").slope.S;
  };
  EXPECT_EQ(load_of(parse_board(modelled_board("lstm"), "f")), 0);
  EXPECT_EQ(load_of(parse_board(modelled_board("lstm", "S1 = 14.5\n"), "f")), 14.5);
  EXPECT_THROW(parse_board(modelled_board("lstm", "S1 = -1\n"), "f"), BoardFileError);
}

TEST(BoardFile, StrangeBytesNeverReachAnErrorMessage) {
  for (const std::string& text :
       {replaced("id =", "\"i\\u001b[31md\" ="), replaced("\"bench\"", "\"\\u001b[2J\""),
        std::string("\xff\xfe"), std::string("\"\x1b\" = 1")}) {
    try {
      parse_board(text, "f");
      ADD_FAILURE() << "accepted";
    } catch (const BoardFileError& error) {
      for (const char c : std::string(error.what())) EXPECT_TRUE(c >= ' ' && c <= '~') << +c;
    }
  }
}

}  // namespace
}  // namespace gearshift
