#include "trace/profile_csv.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/fakes/measured_data.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

constexpr std::string_view kProfileHeader =
    "device,workload,kind,batch_size,cpu_cores,cpu_mhz,gpu_mhz,mem_mhz,power_limit_w,"
    "minibatch_ms,epoch_s,power_w\n";

std::string table(std::string_view rows) { return std::string(kProfileHeader) + std::string(rows); }

void expect_equal(const std::vector<Profile>& one, const std::vector<Profile>& other) {
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].device, other[i].device);
    EXPECT_EQ(one[i].workload, other[i].workload);
    EXPECT_EQ(one[i].kind, other[i].kind);
    EXPECT_EQ(one[i].cells(), other[i].cells());
    ASSERT_EQ(one[i].knobs().size(), other[i].knobs().size());
    for (std::size_t knob = 0; knob < one[i].knobs().size(); ++knob) {
      EXPECT_EQ(one[i].knobs().knobs[knob].name, other[i].knobs().knobs[knob].name);
      EXPECT_EQ(one[i].knobs().knobs[knob].values, other[i].knobs().knobs[knob].values);
    }
  }
}

TEST(ProfileCsv, ReadsModesInTheSmallestUnitsAndCellsInOrder) {
  const auto profiles =
      parse_profiles(table("orin,resnet,train,16,12,2201.6,1300.5,3199,,64.2,,51.1\n"
                           "orin,resnet,train,16,4,422.4,114.75,665.6,,812,3900.5,14.5\n"),
                     "t.csv");
  ASSERT_EQ(profiles.size(), 1u);
  EXPECT_EQ(profiles[0].device, "orin");
  EXPECT_EQ(profiles[0].workload, "resnet");
  EXPECT_EQ(profiles[0].kind, Kind::train);
  ASSERT_EQ(profiles[0].knobs().size(), 4u);
  EXPECT_EQ(profiles[0].knobs().knobs[2].name, "gpu_mhz");
  EXPECT_EQ(profiles[0].knobs().knobs[2].unit, Unit::khz);
  EXPECT_FALSE(profiles[0].knobs().knobs[2].follows_cores);
  EXPECT_TRUE(profiles[0].knobs().knobs[1].follows_cores) << "the clock of the CPU";
  EXPECT_EQ(profiles[0].knobs().knobs[2].values, (std::vector<std::int64_t>{114'750, 1'300'500}));
  ASSERT_EQ(profiles[0].cells().size(), 2u);
  const ProfileCell& first = profiles[0].cells()[0];
  EXPECT_EQ(first.mode, (PowerMode{.values = {12, 2'201'600, 1'300'500, 3'199'000}, .count = 4}));
  EXPECT_EQ(first.minibatch_ms, 64.2);
  EXPECT_EQ(first.power_w, 51.1);
  EXPECT_FALSE(first.epoch_s);
  EXPECT_EQ(profiles[0].cells()[1].epoch_s, 3900.5);
}

TEST(ProfileCsv, KeepsDevicesWorkloadsAndKindsApartInOrderOfAppearance) {
  const auto profiles = parse_profiles(table("b,resnet,train,16,1,,,,,1,,1\n"
                                             "a,resnet,train,16,1,,,,,2,,1\n"
                                             "b,resnet,infer,16,1,,,,,3,,1\n"
                                             "b,lstm,train,16,,,300,,,4,,1\n"
                                             "b,resnet,train,16,2,,,,,5,,1\n"),
                                       "t.csv");
  ASSERT_EQ(profiles.size(), 4u);
  EXPECT_EQ(profiles[0].device, "b");
  ASSERT_EQ(profiles[0].cells().size(), 2u);
  EXPECT_EQ(profiles[0].cells()[1].minibatch_ms, 5);
  EXPECT_EQ(profiles[1].device, "a");
  EXPECT_EQ(profiles[2].kind, Kind::infer);
  EXPECT_EQ(profiles[3].knobs().knobs.at(0).name, "gpu_mhz") << "each profile has its own knobs";
}

TEST(ProfileCsv, ACellWithAnEpochAloneIsNotTimed) {
  const auto profiles = parse_profiles(table("v100,bert,train,32,,,,,150,,17.5,108\n"), "t.csv");
  const ProfileCell& cell = profiles.at(0).cells().at(0);
  EXPECT_FALSE(cell.timed());
  EXPECT_GT(cell.minibatch_ms, 1e300) << "never the fastest";
  EXPECT_EQ(cell.epoch_s, 17.5);
  EXPECT_EQ(profiles[0].knobs().knobs.at(0).unit, Unit::mw);
  EXPECT_EQ(cell.mode.values[0], 150'000);
}

TEST(ProfileCsv, TakesWhatSpreadsheetsWrite) {
  const auto plain = parse_profiles(table("o,r,train,16,1,2,3,4,,5,,6\n"), "t.csv");
  std::string windows = "\xef\xbb\xbf" + table("\"o\", r ,train,16,1,2,3,4,,\"5\",,6\n");
  for (std::size_t at = 0; (at = windows.find('\n', at)) != std::string::npos; at += 2) {
    windows.insert(at, "\r");
  }
  expect_equal(parse_profiles(windows + "\r\n\n", "t.csv"), plain);
  std::string open_ended = table("o,r,train,16,1,2,3,4,,5,,6");
  expect_equal(parse_profiles(open_ended, "t.csv"), plain);
  EXPECT_EQ(parse_profiles(table("\"a\"\"b\",r,train,1,1,,,,,5,,6\n"), "t.csv").at(0).device,
            "a\"b");
}

TEST(ProfileCsv, ColumnsMayComeInAnyOrderAndUnusedOnesMayBeAbsent) {
  const auto profiles = parse_profiles(
      "power_w,gpu_mhz,cpu_cores,kind,minibatch_ms,batch_size,workload,device,energy_j\n"
      "10,300,2,train,50,8,lenet,bench,0.5\n",
      "t.csv");
  ASSERT_EQ(profiles.at(0).knobs().size(), 2u);
  EXPECT_EQ(profiles[0].knobs().knobs[0].name, "cpu_cores") << "the order is always the same";
  EXPECT_EQ(profiles[0].cells().at(0).mode.values[1], 300'000);
}

std::string objection_to_energy(const std::string& times_power_and_energy) {
  try {
    parse_profiles(
        "device,workload,kind,batch_size,minibatch_ms,epoch_s,power_w,energy_j\no,r,train,16," +
            times_power_and_energy + "\n",
        "t.csv");
  } catch (const CsvError& error) {
    return error.what();
  }
  return "";
}

TEST(ProfileCsv, EnergyIsTimeMultipliedByPower) {
  for (const char* fits : {"50,,10,0.5", "50,,10,0.549", "50,,10,0.451", "50,,10,", ",7,10,99"}) {
    EXPECT_EQ(objection_to_energy(fits), "") << fits;
  }
  for (const char* energy : {"0.56", "0.44", "500"}) {
    EXPECT_EQ(
        objection_to_energy(std::string("50,,10,") + energy),
        "t.csv:2: energy_j = '" + std::string(energy) +
            "': 50 ms at 10 W take 0.5 J; it is of one minibatch, in joules, or leave it empty")
        << energy;
  }
}

struct Bad {
  const char* rows;  // under kProfileHeader
  const char* line;
  const char* says;
};

const Bad kBad[] = {
    {"o,r,train,16,1,2,3,4,,5,,6,7\n", "t.csv:2: ", "13 fields, and the first line names 12"},
    {"o,r,train,16,1,2,3,4,,5,6\n", "t.csv:2: ", "11 fields"},
    {"o,r,train,16,1,2,3,4,,5,,6\n\no,r,train,8,1,2,3,4,,5,,6\n", "t.csv:3: ", "remove it"},
    {",r,train,16,1,2,3,4,,5,,6\n", "t.csv:2: ", "device = '': must be 1 to 64"},
    {"o,\"r \",train,16,1,2,3,4,,5,,6\n", "t.csv:2: ", "workload = 'r ': must be 1 to 64"},
    {"o,r\xc2\x9b,train,16,1,2,3,4,,5,,6\n", "t.csv:2: ", "workload = 'r?\?': must be 1 to 64"},
    {"o,r,both,16,1,2,3,4,,5,,6\n", "t.csv:2: ", "kind = 'both': must be train or infer"},
    {"o,r,train,,1,2,3,4,,5,,6\n", "t.csv:2: ", "batch_size = '': must be a number above 0"},
    {"o,r,train,1.5,1,2,3,4,,5,,6\n", "t.csv:2: ", "batch_size = '1.5': must be a whole number"},
    {"o,r,train,1000001,1,2,3,4,,5,,6\n", "t.csv:2: ", "at most 1000000"},
    {"o,r,train,16,0,2,3,4,,5,,6\n", "t.csv:2: ", "cpu_cores = '0': must be a number above 0"},
    {"o,r,train,16,1,-2,3,4,,5,,6\n", "t.csv:2: ", "cpu_mhz = '-2': must be a number above 0"},
    {"o,r,train,16,1,2,0.0001,4,,5,,6\n",
     "t.csv:2: ", "gpu_mhz = '0.0001': must be at least 0.001"},
    {"o,r,train,16,1,2,3,4,nan,5,,6\n", "t.csv:2: ", "power_limit_w = 'nan': must be a number"},
    {"o,r,train,16,1,2,3,4,,inf,,6\n", "t.csv:2: ", "minibatch_ms = 'inf': must be a number"},
    {"o,r,train,16,1,2,3,4,,5 ms,,6\n", "t.csv:2: ", "minibatch_ms = '5 ms': must be a number"},
    {"o,r,train,16,1,2,3,4,,0.000001,,6\n",
     "t.csv:2: ", "minibatch_ms = '0.000001': must be at least 0.001: it is in milliseconds"},
    {"o,r,train,16,1,2,3,4,,,,6\n", "t.csv:2: ", "minibatch_ms = '': must be given where epoch_s"},
    {"o,r,train,16,1,2,3,4,,5,,\n", "t.csv:2: ", "power_w = '': must be a number above 0"},
    {"o,r,train,16,1,2,3,4,,5,,1e999\n", "t.csv:2: ", "power_w = '1e999': must be a number"},
    {"o,r,train,16,1,2,3,4,,5,,6\no,r,train,16,1,2,,4,,5,,6\n",
     "t.csv:3: ", "gpu_mhz = '': must be given, as in line 2"},
    {"o,r,train,16,1,2,,4,,5,,6\no,r,train,16,1,2,3,4,,5,,6\n",
     "t.csv:3: ", "gpu_mhz = '3': must be empty, as in line 2"},
    {"o,r,train,16,1,2,3,4,,5,,6\no,r,train,8,1,2,3,4,,5,,6\no,r,train,16,1,2,3,4,,7,,8\n",
     "t.csv:4: ",
     "o r train batch_size=16 cpu_cores=1 cpu_mhz=2 gpu_mhz=3 mem_mhz=4: is in line 2"},
    {"\"o,r,train,16,1,2,3,4,,5,,6\n", "t.csv:2: ", "a quote is open"},
    {"\"o\"x,r,train,16,1,2,3,4,,5,,6\n", "t.csv:2: ", "follows a closing quote"},
    {"o\"x,r,train,16,1,2,3,4,,5,,6\n", "t.csv:2: ", "has a quote inside"},
    {"o\x1b[31m,r,train,16,1,2,3,4,,5,,6\n", "t.csv:2: ", "device = 'o?[31m': must be 1 to 64"},
};

TEST(ProfileCsv, ErrorsNameFileLineColumnValueAndWhatIsAllowed) {
  for (const Bad& bad : kBad) {
    SCOPED_TRACE(bad.rows);
    try {
      parse_profiles(table(bad.rows), "t.csv");
      ADD_FAILURE() << "accepted";
    } catch (const CsvError& error) {
      const std::string what = error.what();
      EXPECT_TRUE(what.starts_with(bad.line)) << what;
      EXPECT_NE(what.find(bad.says), std::string::npos) << what;
    }
  }
}

TEST(ProfileCsv, ErrorsInTheFirstLineNameTheColumn) {
  const std::pair<const char*, const char*> bad[] = {
      {"", "needs a first line"},
      {"\n", "needs a first line"},
      {"device,workload,kind,batch_size,power_w,fan_rpm\n",
       "t.csv:1: column 6 = 'fan_rpm': no such column; there are device workload"},
      {"device,workload,kind,batch_size,power_w,kind\n", "t.csv:1: column 6 = 'kind': is there"},
      {"device,workload,kind,power_w\n", "t.csv:1: column batch_size is missing"},
  };
  for (const auto& [text, says] : bad) {
    try {
      parse_profiles(text, "t.csv");
      ADD_FAILURE() << "accepted: " << text;
    } catch (const CsvError& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  }
  EXPECT_TRUE(parse_profiles(kProfileHeader, "t.csv").empty())
      << "a table without rows is no error";
}

TEST(ProfileCsv, LinesAndFieldsHaveLimitsThatCanBeReached) {
  const std::string row = "o,r,train,16,1,2,3,4,,5,,6";
  const std::string blanks(CsvLines::kMostBytes - row.size(), ' ');
  EXPECT_EQ(parse_profiles(table(row + blanks + "\n"), "t.csv").size(), 1u);
  EXPECT_THROW(parse_profiles(table(row + blanks + " \n"), "t.csv"), CsvError);
  const std::string commas(CsvLines::kMostFields, ',');
  CsvLines lines(std::string_view(commas).substr(1), "t.csv");
  ASSERT_TRUE(lines.next());
  EXPECT_EQ(lines.fields().size(), CsvLines::kMostFields);
  CsvLines more(commas, "t.csv");
  EXPECT_THROW(more.next(), CsvError);
}

TEST(ProfileCsv, WhatIsWrittenReadsBackEqual) {
  const auto profiles =
      parse_profiles(table("o,r,train,16,12,2201.6,1300.5,3199,,64.123456789012345,,51.1\n"
                           "o,r,train,8,4,422.4,114.75,665.6,,0.1,3900.5,14.5\n"
                           "\"v,100\",\"b\"\"c\",infer,32,,,,,137.5,,1e-7,1e5\n"),
                     "t.csv");
  const std::string text = format_profiles(profiles);
  EXPECT_TRUE(text.starts_with(kProfileHeader)) << text;
  expect_equal(parse_profiles(text, "again"), profiles);
  EXPECT_EQ(format_profiles(parse_profiles(text, "again")), text);
}

TEST(ProfileCsv, NamesMayHaveBlanksAndBeOfAnyScript) {
  Profile profile = parse_profiles(table("o,r,train,16,1,2,3,4,,5,,6\n"), "t.csv").at(0);
  for (const char* name :
       {"ResNet 18 (fp16)", "\"a\", b", "r\xc3\xa9seau \xe6\xb7\xb1 \xf0\x9f\x90\xa2"}) {
    profile.workload = name;
    EXPECT_EQ(unwritable(profile), std::nullopt) << name;
    const auto read = parse_profiles(format_profiles({&profile, 1}), "again");
    EXPECT_EQ(read.at(0).workload, name);
    EXPECT_EQ(read[0].cells(), profile.cells());
  }
  const std::string most(64, 'm');
  for (const std::string& name :
       {std::string(), std::string(" r"), std::string("r "), std::string("r\ts"),
        std::string("r\x7f"), std::string("r\xc2\x85"), std::string("r\xff"),
        std::string("r\xe6\xb7"), std::string("\xed\xa0\x80"), std::string("\xc0\xaf"),
        std::string("\xe0\x80\xaf"), most + "m"}) {
    profile.workload = name;
    EXPECT_NE(unwritable(profile).value_or("").find("must be 1 to 64 bytes"), std::string::npos)
        << name;
  }
  profile.workload = most;
  EXPECT_EQ(unwritable(profile), std::nullopt);
}

TEST(ProfileCsv, TheQuotaOfAHostHasAColumnWhereItIsUsed) {
  Profile profile(KnobSpace{{{"cpu_quota_percent", Unit::percent, KnobClass::clock, {50, 100}}}});
  profile.device = "host";
  profile.workload = "lenet";
  ASSERT_TRUE(profile.add({.mode = {.values = {50}, .count = 1},
                           .batch_size = 4,
                           .minibatch_ms = 3,
                           .power_w = 5,
                           .epoch_s = {}}));
  const std::string text = format_profiles({&profile, 1});
  EXPECT_NE(text.find(",cpu_quota_percent,"), std::string::npos);
  EXPECT_EQ(parse_profiles(text, "t").at(0).cells(), profile.cells());
  const Profile strange(KnobSpace{{{"fan_rpm", Unit::count, KnobClass::clock, {1}}}});
  EXPECT_THROW(format_profiles({&strange, 1}), CsvError);
}

TEST(ProfileCsv, WhatCouldNotBeReadBackIsNotWritten) {
  const auto good = parse_profiles(table("o,r,train,16,1,2,3,4,,5,,6\n"), "t.csv");
  Profile profile = good.at(0);
  profile.workload = "resnet ";
  EXPECT_THROW(format_profiles({&profile, 1}), CsvError);
  for (const double wrong : {0.0, 1e-4, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    for (const bool power : {true, false}) {
      Profile one(good[0].knobs());
      one.device = one.workload = "x";
      ProfileCell cell = good[0].cells()[0];
      if (power && wrong > 0) continue;
      (power ? cell.power_w : cell.minibatch_ms) = wrong;
      ASSERT_TRUE(one.add(cell));
      EXPECT_THROW(format_profiles({&one, 1}), CsvError) << wrong;
    }
  }
}

TEST(ProfileCsv, AFileIsReplacedAsAWhole) {
  const fakes::TempTree tree;
  const auto profiles = parse_profiles(table("o,r,train,16,1,2,3,4,,5,,6\n"), "t.csv");
  const std::filesystem::path path = tree.root() / "profile.csv";
  write_profiles(path, profiles);
  expect_equal(read_profiles(path), profiles);
  write_profiles(path, {});
  EXPECT_TRUE(read_profiles(path).empty());
  EXPECT_FALSE(std::filesystem::exists(tree.root() / "profile.csv.new"));
  EXPECT_THROW(read_profiles(tree.root()), CsvError) << "a folder";
  EXPECT_THROW(read_profiles(tree.root() / "absent.csv"), CsvError);
  EXPECT_THROW(write_profiles(tree.root() / "no" / "such.csv", profiles), std::runtime_error);
}

TEST(ProfileCsv, ReadsAllMeasuredProfiles) {
  const std::filesystem::path data = measured_folder();
  if (!std::filesystem::exists(data)) GTEST_SKIP() << no_measured_data();
  const std::pair<const char*, std::size_t> files[] = {
      {"agx_orin_resnet_train.csv", 4368},
      {"agx_orin_mobnet_train.csv", 4368},
      {"agx_orin_lstm_train.csv", 441},
      {"agx_orin_resnet_infer.csv", 2205},
      {"agx_orin_mobnet_infer.csv", 2205},
      {"orin_nano_resnet_train.csv", 180},
      {"gpu_v100.csv", 322},
      {"gpu_p100.csv", 186},
  };
  for (const auto& [file, rows] : files) {
    SCOPED_TRACE(file);
    const auto profiles = read_profiles(data / file);
    std::size_t cells = 0;
    for (const Profile& profile : profiles) cells += profile.cells().size();
    EXPECT_EQ(cells, rows);
    expect_equal(parse_profiles(format_profiles(profiles), "again"), profiles);
  }
}

}  // namespace
}  // namespace gearshift
