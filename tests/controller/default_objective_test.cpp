// What is minimised where nobody said it: it follows who runs, and whether requests come.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "controller/controller.h"
#include "tests/fakes/serving_rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

struct DefaultRig : ServingRig {
  explicit DefaultRig(const ListPolicy::Decide& decide = best_of(kThree)) : ServingRig(decide) {
    options.goal.objective = Objective::time;
    options.goal.objective_by_default = true;
    world.attach_server(seconds(10), 40);
  }
  std::vector<std::string> told() const {
    std::vector<std::string> texts;
    for (const KeptNote& note : recorder.of(NoteType::objective)) texts.push_back(note.text);
    return texts;
  }
};

TEST(DefaultObjective, IsThroughputWhileTrainingRunsBesideRequests) {
  DefaultRig rig;
  rig.world.detach(seconds(90));
  rig.run();
  EXPECT_EQ(rig.told(),
            (std::vector<std::string>{"throughput, the default beside requests", "time"}));
  EXPECT_EQ(rig.policy.goals.front().objective, Objective::time) << "the trainer is alone";
  EXPECT_EQ(rig.summary.goal.objective, Objective::time);
  const auto beside = [](const Goal& goal) { return goal.objective == Objective::throughput; };
  const auto& goals = rig.policy.goals;
  EXPECT_TRUE(std::any_of(goals.begin(), goals.end(), beside));
}

TEST(DefaultObjective, OneThatTheOperatorGaveHoldsBesideRequestsToo) {
  DefaultRig rig;
  Event event;
  event.type = EventType::goal;
  event.goal.objective = Objective::time;
  rig.world.at(seconds(5), event);
  rig.run();
  EXPECT_EQ(rig.told(), std::vector<std::string>{"time"});
  EXPECT_EQ(rig.summary.goal.objective, Objective::time);
}

TEST(DefaultObjective, ASearchBesideRequestsThatFindsNothingNamesTheObjectiveThatWould) {
  const auto nothing = [](const PolicyContext&, const std::vector<Observation>&) {
    return Request{Request::What::hold_safe, {}};
  };
  const auto names_it = [](const DefaultRig& rig) {
    const std::vector<KeptNote> notes = rig.recorder.of(NoteType::safe);
    return std::any_of(notes.begin(), notes.end(), [](const KeptNote& note) {
      return note.text.find("--objective throughput") != std::string::npos;
    });
  };
  DefaultRig given(nothing);
  given.options.goal.objective_by_default = false;
  given.run();
  EXPECT_TRUE(names_it(given));
  DefaultRig chosen(nothing);
  chosen.run();
  EXPECT_FALSE(names_it(chosen));
}

}  // namespace
}  // namespace gearshift
