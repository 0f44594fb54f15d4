#include "cli/select_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "cli/model_fit_chosen.h"
#include "cli/simulated_costs.h"

namespace gearshift {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const BoardDescription& orin() { return *find_board("jetson-agx-orin", built_in_boards()); }

Profile profile_of(const std::string& workload, Kind kind) {
  Profile profile;
  profile.device = "jetson-agx-orin";
  profile.workload = workload;
  profile.kind = kind;
  return profile;
}

TEST(SelectWorkload, FindsItByTheNameOfItsKind) {
  EXPECT_EQ(require_workload(orin(), "resnet18", Kind::train, "--workload").first, "resnet18");
  const auto& served = require_workload(orin(), "resnet18", Kind::infer, "--serve");
  EXPECT_EQ(served.first, "resnet18-infer");
  EXPECT_EQ(&served.second, &orin().workloads.at("resnet18-infer"));
}

struct Refusal {
  const char* flag;
  Kind kind;
  std::function<void(Kind)> ask;
};

struct UnknownWorkload : testing::TestWithParam<Refusal> {};

TEST_P(UnknownWorkload, IsRefusedWithTheFlagTheBoardAndWhatItHasOfTheKind) {
  const auto& [flag, kind, ask] = GetParam();
  try {
    ask(kind);
    FAIL() << "not refused";
  } catch (const std::invalid_argument& error) {
    const std::string what = error.what();
    EXPECT_EQ(what.find(std::string(flag) + ": the model of jetson-agx-orin has no " +
                        std::string(kind_name(kind)) + " workload 'nope'; it has "),
              0u)
        << what;
    const std::string of_the_kind = kind == Kind::train ? "resnet18" : "resnet18-infer";
    const std::string of_the_other = kind == Kind::train ? "-infer" : "lstm";
    EXPECT_THAT(what, AllOf(HasSubstr(of_the_kind), Not(HasSubstr(of_the_other))));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Flags, UnknownWorkload,
    testing::Values(
        Refusal{"--workload", Kind::train,
                [](Kind kind) { require_workload(orin(), "nope", kind, "--workload"); }},
        Refusal{"--serve", Kind::infer,
                [](Kind kind) { require_workload(orin(), "nope", kind, "--serve"); }},
        Refusal{"--model", Kind::train,
                [](Kind kind) { filling_costs(orin(), profile_of("resnet18", kind), "nope"); }},
        Refusal{"--model", Kind::infer,
                [](Kind kind) { filling_costs(orin(), profile_of("nope", kind), ""); }},
        Refusal{"--start", Kind::train, [](Kind kind) {
                  fit_chosen(orin(), profile_of("resnet18", kind), {},
                             {.start = "jetson-agx-orin/nope", .cells = 3});
                }}));

TEST(SelectWorkload, SaysSoWhereABoardHasNone) {
  const BoardDescription& gpu = *find_board("nvidia-gpu", built_in_boards());
  try {
    require_workload(gpu, "resnet18", Kind::train, "--workload");
    FAIL() << "not refused";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "--workload: the model of nvidia-gpu has no train workload 'resnet18'; "
                 "it has none");
  }
}

}  // namespace
}  // namespace gearshift
