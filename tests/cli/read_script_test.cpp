#include "cli/read_script.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "controller/policy.h"

namespace gearshift {
namespace {

// The name seeds a script's random numbers.
TEST(ReadScript, HasTheFilesNameHoweverThePathIsSpelt) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "gearshift_read_script";
  std::filesystem::create_directories(folder / "deep");
  std::ofstream(folder / "hill.lua") << "return safe\n";
  for (const char* spelt : {"hill.lua", "./hill.lua", "deep/../hill.lua", ".//hill.lua"}) {
    const NamedText script = read_script((folder / spelt).string());
    EXPECT_EQ(script.name, "hill.lua") << spelt;
    EXPECT_EQ(script.text, "return safe\n") << spelt;
  }
  std::ofstream(folder / "\x1b[2J.lua") << "return safe\n";
  EXPECT_EQ(read_script((folder / "\x1b[2J.lua").string()).name, "?[2J.lua");
  std::filesystem::remove_all(folder);
}

TEST(ReadScript, AShippedOneHasTheNameOfItsFile) {
  EXPECT_EQ(read_script("bayes").name, "bayes.lua");
  EXPECT_THROW(read_script("no_such_script"), PolicyError);
}

}  // namespace
}  // namespace gearshift
