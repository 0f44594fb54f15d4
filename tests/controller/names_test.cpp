// The codes that a run prints are documented.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "controller/observation.h"
#include "controller/recorder.h"

namespace gearshift {
namespace {

std::string faults_page() {
  std::ifstream file(GEARSHIFT_SOURCE_DIR "/docs/faults.md");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool documents(const std::string& page, std::string_view code) {
  return page.find("`" + std::string(code) + "`") != std::string::npos;
}

TEST(Names, OfNotesAndOutcomesAreInTheFaultsPage) {
  const std::string page = faults_page();
  ASSERT_FALSE(page.empty());
  for (int i = 0; i <= static_cast<int>(NoteType::stop); ++i) {
    const std::string_view name = note_name(static_cast<NoteType>(i));
    EXPECT_TRUE(documents(page, name)) << name;
  }
  for (int i = 0; i <= static_cast<int>(Outcome::late); ++i) {
    const std::string_view name = outcome_name(static_cast<Outcome>(i));
    EXPECT_TRUE(documents(page, name)) << name;
  }
}

}  // namespace
}  // namespace gearshift
