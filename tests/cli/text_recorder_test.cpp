#include "cli/text_recorder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>
#include <string>

#include "cli/outlet.h"
#include "cli/standard_output.h"

namespace gearshift {
namespace {

// What a recorder wrote of a plain note and a warning of two lines.
std::string written_to(LogPlace place) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const KnobSpace space;
  {
    Outlet out(ends[1]);
    TextRecorder recorder(space, out, place);
    recorder.note({.type = NoteType::plan, .text = "planned: 20 W"});
    recorder.note(
        {.type = NoteType::policy_error, .text = "attempt to index nil\nstack traceback"});
  }
  char text[4096];
  const auto size = read(ends[0], text, sizeof text);
  close(ends[0]);
  close(ends[1]);
  return {text, static_cast<std::size_t>(size)};
}

TEST(TextRecorder, DatesWhatMayBeKept) {
  const std::string date = "20\\d\\d-\\d\\d-\\d\\d ";
  const std::string time = "\\d\\d:\\d\\d:\\d\\d ";
  EXPECT_TRUE(std::regex_search(written_to(LogPlace::file),
                                std::regex("^" + date + time + ".*planned: 20 W\n")))
      << written_to(LogPlace::file);
  EXPECT_TRUE(std::regex_search(written_to(LogPlace::terminal), std::regex("^" + time)))
      << written_to(LogPlace::terminal);
}

TEST(TextRecorder, GivesTheJournalThePriorityOfEachLineAndNoDate) {
  const std::string text = written_to(LogPlace::journal);
  EXPECT_TRUE(std::regex_match(
      text, std::regex("<6>.*planned: 20 W\n<4>.*attempt to index nil\n<4>stack traceback\n")))
      << text;
}

TEST(LeadsToJournal, WhereTheVariableNamesTheDescriptorsFile) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  struct stat of {};
  ASSERT_EQ(fstat(ends[1], &of), 0);
  unsetenv("JOURNAL_STREAM");
  EXPECT_FALSE(leads_to_journal(ends[1]));
  EXPECT_EQ(log_place_of(ends[1]), LogPlace::file);
  setenv("JOURNAL_STREAM", (std::to_string(of.st_dev) + ":" + std::to_string(of.st_ino)).c_str(),
         1);
  EXPECT_TRUE(leads_to_journal(ends[1]));
  EXPECT_EQ(log_place_of(ends[1]), LogPlace::journal);
  setenv("JOURNAL_STREAM",
         (std::to_string(of.st_dev) + ":" + std::to_string(of.st_ino + 1)).c_str(), 1);
  EXPECT_FALSE(leads_to_journal(ends[1])) << "another's, inherited";
  unsetenv("JOURNAL_STREAM");
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace gearshift
