#include "actuators/journal_text.h"

#include <gtest/gtest.h>

#include <string>

namespace gearshift {
namespace {

JournalText example() {
  return {"1111-2222",
          "/tmp/a tree",
          {{SavedRole::core_online, "/sys/devices/system/cpu/cpu1/online", "1"},
           {SavedRole::limit_max, "/sys/max_freq", "2201600"},
           {SavedRole::group, "/sys/fs/cgroup/cpu/gearshift-7", ""},
           {SavedRole::group_home, "/sys/fs/cgroup/cpu/gearshift-7", "42 /sys/fs/cgroup/cpu"}}};
}

// What parsing says of the bytes; empty where it takes them.
std::string refusal(std::string_view bytes) {
  try {
    parse_journal(bytes);
    return "";
  } catch (const JournalError& error) {
    return error.what();
  }
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(JournalText, HasTheFormatOfItsSpecification) {
  EXPECT_EQ(format_journal(example()),
            "gearshift-journal 1\n"
            "boot 1111-2222\n"
            "sysroot /tmp/a%20tree\n"
            "core_online /sys/devices/system/cpu/cpu1/online 1\n"
            "limit_max /sys/max_freq 2201600\n"
            "group /sys/fs/cgroup/cpu/gearshift-7 \n"
            "group_home /sys/fs/cgroup/cpu/gearshift-7 42%20/sys/fs/cgroup/cpu\n"
            "end 4 3a80ca5a\n");
}

TEST(JournalText, ComesBackAsItWas) {
  EXPECT_EQ(parse_journal(format_journal(example())), example());
  const JournalText empty{"", "/", {}};
  EXPECT_EQ(parse_journal(format_journal(empty)), empty);
}

TEST(JournalText, CarriesEveryByteOfAText) {
  JournalText journal = example();
  journal.entries[0].text.clear();
  for (int byte = 0; byte < 256; ++byte) journal.entries[0].text += static_cast<char>(byte);
  EXPECT_EQ(parse_journal(format_journal(journal)), journal);
}

TEST(JournalText, EveryTruncationIsRefused) {
  const std::string whole = format_journal(example());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(refusal(whole.substr(0, size)), "") << size << " bytes";
  }
}

TEST(JournalText, EveryFlippedBitIsRefused) {
  const std::string whole = format_journal(example());
  for (std::size_t i = 0; i < whole.size() * 8; ++i) {
    std::string flipped = whole;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << (i % 8)));
    EXPECT_NE(refusal(flipped), "") << "bit " << i;
  }
}

TEST(JournalText, RefusalsSayLineAndReason) {
  const std::string whole = format_journal(example());
  EXPECT_EQ(refusal(""), "line 1: the journal ends too early");
  EXPECT_EQ(refusal("garbage\n"), "line 1: should have 2 fields");
  EXPECT_EQ(refusal(replaced(whole, "journal 1", "journal 2")),
            "line 1: format version 2, this program knows 1");
  EXPECT_EQ(refusal(replaced(whole, "limit_max", "limit_top")), "line 5: unknown role 'limit_top'");
  EXPECT_EQ(refusal(replaced(whole, "end 4", "end 3")), "line 8: says 3 entries, there are 4");
  EXPECT_EQ(refusal(replaced(whole, "2201600", "2201601")),
            "line 8: the checksum does not fit: the journal was damaged or edited");
  EXPECT_EQ(refusal(whole + "x\n"), "line 9: there is text after the end");
  EXPECT_EQ(refusal(replaced(whole, "a%20tree", "a%2")),
            "line 3: a field holds a byte that should be percent-encoded");
}

TEST(JournalText, RefusesPathsThatAreRelativeOrClimb) {
  for (const std::string path : {"sys/x", "", "/sys/../etc/passwd", "/sys/.."}) {
    JournalText journal = example();
    journal.entries[1].path = path;
    EXPECT_NE(refusal(format_journal(journal)).find("not an absolute path"), std::string::npos)
        << path;
  }
  JournalText journal = example();
  journal.entries[1].path = "/sys/..a";
  EXPECT_EQ(refusal(format_journal(journal)), "");
}

TEST(JournalText, IsBounded) {
  JournalText journal = example();
  journal.entries.resize(kMaxJournalEntries, journal.entries[0]);
  EXPECT_EQ(refusal(format_journal(journal)), "");
  journal.entries.push_back(journal.entries[0]);
  EXPECT_NE(refusal(format_journal(journal)).find("too many entries"), std::string::npos);
  EXPECT_NE(refusal(std::string(kMaxJournalBytes + 1, 'x')), "");
}

TEST(JournalText, ALineHasAsManyBytesAsItsEntryAddsToTheText) {
  JournalText text{"boot", "/", {{SavedRole::fan_duty, "/sys/pwm1", "128"}}};
  const std::size_t before = format_journal(text).size();
  text.entries.push_back({SavedRole::group_home, "/sys/a folder", "12 /100%\n"});
  EXPECT_EQ(format_journal(text).size() - before, line_bytes(text.entries.back()));
}

}  // namespace
}  // namespace gearshift
