#include "trace/recording_names.h"

#include <gtest/gtest.h>

#include "controller/recorder.h"

namespace gearshift {
namespace {

TEST(RecordingNames, ASearchThatWaitsIsOneWhateverItWasRecordedAs) {
  constexpr std::string_view kWaits = "the search waits: it has drawn its share";
  EXPECT_EQ(note_from_word("rationed", kWaits), NoteType::rationed);
  EXPECT_EQ(note_from_word("over_cap", kWaits), NoteType::rationed);
  EXPECT_EQ(note_from_word("over_cap", "stepping down"), NoteType::over_cap);
  EXPECT_EQ(note_from_word("safe", kWaits), NoteType::safe);
  EXPECT_EQ(note_from_word("overcap", kWaits), std::nullopt);
}

}  // namespace
}  // namespace gearshift
