#include "controller/printable_text.h"

#include <gtest/gtest.h>

#include <string>

namespace gearshift {
namespace {

std::string hidden(std::string text, char kept = ' ') {
  hide_unprintable(text, kept);
  return text;
}

TEST(PrintableText, KeepsCharactersOfAnyLength) {
  for (const char* text : {"", "plain ~", "gr\xc3\xbcn", "\xe2\x82\xac 5", "\xf0\x9f\x9a\x80"}) {
    EXPECT_EQ(hidden(text), text);
  }
  EXPECT_EQ(printable_character("\xe2\x82\xac 5"), 3U);
}

TEST(PrintableText, HidesWhatATerminalObeys) {
  EXPECT_EQ(hidden("a\x1b[2J\x07\x7f\tb\n"), "a?[2J???b?");
  EXPECT_EQ(hidden("a\xc2\x9b"
                   "2J"),
            "a??2J")
      << "CSI in two bytes";
  EXPECT_EQ(hidden("a\nb\tc", '\n'), "a\nb?c");
}

TEST(PrintableText, HidesWhatIsNoUtf8) {
  EXPECT_EQ(hidden("\x80"
                   "a\xff"),
            "?a?");
  EXPECT_EQ(hidden("\xc0\xaf"), "??") << "a slash in two bytes";
  EXPECT_EQ(hidden("\xed\xa0\x80"), "???") << "half of a pair";
  EXPECT_EQ(hidden("\xf4\x90\x80\x80"), "????") << "beyond the last character";
  EXPECT_EQ(hidden("5 \xe2\x82"), "5 ??") << "cut short";
  EXPECT_EQ(hidden("\xe2\x82"
                   "a"),
            "??a");
}

}  // namespace
}  // namespace gearshift
