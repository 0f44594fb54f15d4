#include "trace/suspect_cells.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

constexpr const char* kSuspectHeader =
    "file,workload,kind,batch_size,cpu_cores,gpu_mhz,minibatch_ms,power_w,evidence\n";

std::string suspect_error(const std::string& line) {
  try {
    parse_suspect_cells(kSuspectHeader + line, "cells.csv");
  } catch (const CsvError& error) {
    return error.what();
  }
  return "";
}

Profile profile_of(Kind kind) {
  KnobSpace space;
  space.knobs = {{"cpu_cores", Unit::count, KnobClass::hotplug, {4, 8}},
                 {"gpu_mhz", Unit::khz, KnobClass::clock, {306'000, 1'300'500}}};
  Profile profile(space);
  profile.device = "small-board";
  profile.workload = "lenet";
  profile.kind = kind;
  const double first_ms = kind == Kind::train ? 40.1234 : 10.1234;
  profile.add({{{4, 306'000}, 2}, 16, first_ms, 12.3456, {}});
  profile.add({{{8, 1'300'500}, 2}, 16, 5, 30, {}});
  return profile;
}

std::vector<bool> marked(const std::string& lines, const Profile& profile) {
  return suspects_in(profile, parse_suspect_cells(kSuspectHeader + lines, "cells.csv"));
}

TEST(SuspectCells, MeanTheCellThatHasAllTheyName) {
  const Profile train = profile_of(Kind::train);
  const std::vector<bool> first = {true, false}, second = {false, true}, none = {false, false};
  EXPECT_EQ(marked("f,lenet,,16,4,306,40.12,12.35,2.8\n", train), first);
  EXPECT_EQ(marked("f,lenet,train,16,,1300.5,,,\n", train), second);
  EXPECT_EQ(marked("f,lenet,infer,16,,1300.5,,,\n", train), none);
  EXPECT_EQ(marked("f,other,,16,,1300.5,,,\n", train), none);
  EXPECT_EQ(marked("f,lenet,,4,,1300.5,,,\n", train), none);
  EXPECT_EQ(marked("f,lenet,,16,4,1300.5,,,\n", train), none);
}

TEST(SuspectCells, AreToldFromTheOtherKindByWhatWasMeasured) {
  const std::string line = "f,lenet,,16,4,306,40.12,12.35,2.8\n";
  const std::vector<bool> none = {false, false};
  EXPECT_EQ(marked(line, profile_of(Kind::infer)), none);
}

TEST(SuspectCells, NamesWhatIsWrongAndWhere) {
  EXPECT_EQ(suspect_error("f,lenet,,0,4,306,,,\n"),
            "cells.csv:2: batch_size = '0': must be a number above 0, at most 1000000000");
  EXPECT_EQ(suspect_error("f,lenet,,1.5,4,306,,,\n"),
            "cells.csv:2: batch_size = '1.5': must be a whole number from 1 to 1000000");
  EXPECT_NE(suspect_error("f,lenet,eval,1,4,306,,,\n").find("kind = 'eval'"), std::string::npos);
  EXPECT_NE(suspect_error("f,,,1,4,306,,,\n").find("workload = ''"), std::string::npos);
  EXPECT_NE(suspect_error("f,lenet,,1,,,,,\n").find("no knob has a value"), std::string::npos);
  EXPECT_NE(suspect_error("f,lenet,,1,4,306,nan,,\n").find("minibatch_ms = 'nan'"),
            std::string::npos);
  EXPECT_NE(suspect_error("f,lenet\n").find("the line has 2 fields"), std::string::npos);
}

TEST(SuspectCells, RefuseAHeaderThatLacksAColumn) {
  EXPECT_THROW(parse_suspect_cells("", "cells.csv"), CsvError);
  EXPECT_THROW(parse_suspect_cells("workload,gpu_mhz\n", "cells.csv"), CsvError);
  EXPECT_THROW(parse_suspect_cells("workload,batch_size,workload\n", "cells.csv"), CsvError);
}

}  // namespace
}  // namespace gearshift
