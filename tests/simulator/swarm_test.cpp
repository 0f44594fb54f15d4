// A small swarm with every build; `make swarm` runs the large one.
#include <gtest/gtest.h>

#include "tests/swarm/scenario.h"

namespace gearshift::swarm {
namespace {

TEST(Swarm, FiftyScenariosKeepTheInvariants) {
  for (std::uint64_t seed = 1'000'000; seed < 1'000'050; ++seed) {
    const ScenarioResult result = run_scenario(seed, GEARSHIFT_SOURCE_DIR "/scripts");
    for (const std::string& violation : result.violations) {
      ADD_FAILURE() << violation << "; again: build/swarm --seed " << seed << " --scenarios 1";
    }
  }
}

TEST(Swarm, AScenarioIsAFunctionOfItsSeed) {
  const std::string scripts = GEARSHIFT_SOURCE_DIR "/scripts";
  EXPECT_EQ(run_scenario(42, scripts).log, run_scenario(42, scripts).log);
  EXPECT_NE(run_scenario(42, scripts).log, run_scenario(43, scripts).log);
}

}  // namespace
}  // namespace gearshift::swarm
