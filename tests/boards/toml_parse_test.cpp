#include "boards/toml_parse.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace gearshift {
namespace {

constexpr std::string_view kRefusal =
    ": a letter outside ASCII may stand in quotes and comments only, and not right after a "
    "backslash";

std::string error_of(std::string_view text) {
  try {
    parse_toml(text, "a.toml");
  } catch (const TomlError& error) {
    return error.what();
  }
  return "";
}

TEST(TomlParse, TakesAnyLetterInQuotesAndComments) {
  const std::string text =
      "\xef\xbb\xbf# \xc2\xb5s\n"
      "one = \"\xcb\x99 \\\" # \xcb\x99\" # \"\xc3\xa9\n"
      "'\xcb\x99' = '\xcb\x99 \\' # \xcb\x99\n"
      "empty = \"\" # \xcb\x99\n"
      "lines = \"\"\"\n\xcb\x99 \"\" \\\"\"\"\xc3\xa9\\n\xc3\xa9 \\\n  \\\n x\"\"\"\"\" # "
      "\xcb\x99\n"
      "literal = '''\xcb\x99 '' \\''' # \xcb\x99\n"
      "in.'\xcb\x99'={'\xcb\x99'=[1,{a=\"\xcb\x99\"}],b.'\xcb\x99'=\"\xcb\x99\"}\n"
      "date = [1979-05-27 07:32:00, # \xcb\x99\n 1979-05-27 , \n]\n"
      "none = \"\"\"\"\"\" # \xcb\x99\n";
  ASSERT_EQ(error_of(text), "");
  const toml::table table = parse_toml(text, "a.toml");
  EXPECT_EQ(table["one"].value_or<std::string>(""), "\xcb\x99 \" # \xcb\x99");
  EXPECT_EQ(table["\xcb\x99"].value_or<std::string>(""), "\xcb\x99 \\");
  EXPECT_EQ(table["lines"].value_or<std::string>(""),
            "\xcb\x99 \"\" \"\"\"\xc3\xa9\n\xc3\xa9 x\"\"");
  EXPECT_EQ(table["literal"].value_or<std::string>(""), "\xcb\x99 '' \\");
  EXPECT_EQ(table["none"].value_or<std::string>("?"), "");
}

TEST(TomlParse, RefusesWhatTheParserHasNoDefinedAnswerFor) {
  const std::pair<const char*, int> bad[] = {
      {"\xcb\x99 = 1", 1},                     // a key
      {"a = 1\n\xcb\x99", 2},                  // a line of its own
      {"a = \xc3\xa9", 1},                     // a value
      {"a = 1\xcd\xb8", 1},                    // behind a number
      {"a = true\xd2\x99", 1},                 // behind a word
      {"a = [1,\n\xcb\x99]", 2},               // in an array
      {"a = {\xcb\x99", 1},                    // in an inline table
      {"a = -\"\xcb\x99\"", 1},                // where a number's end is looked for
      {"a = 1 \"\xcb\x99\"", 1},               // behind a blank, as a time may stand there
      {"a = [\"\xcb\x99\", 1'\xcb\x99']", 1},  // in an array
      {"a = {b = 1'\xcb\x99'}", 1},            // in a table in a line
      {"[\xcb\x99]", 1},                       // a table's name
      {"a = \"b\"\xcb\x99", 1},                // behind a string
      {"a = \"\"\xcb\x99", 1},                 // behind an empty one
      {"a = '\\'\xcb\x99", 1},                 // a backslash that escapes nothing
      {"a = \"\"\"b\"\"\"\"\"\xcb\x99", 1},    // behind five quotes
      {"a = \"\"\"\n\\\xcb\x99\"\"\"", 2},     // escaped
      {"a = \"\"\"\\ \xcb\x99\"\"\"", 1},      // behind a blank that is
      {"a = \"\"\"\\\n\n \xcb\x99\"\"\"", 3},  // behind a line that a backslash ends
      {"a = 1\n\xef\xbb\xbf", 2},              // a byte order mark, too late
  };
  for (const auto& [text, line] : bad) {
    EXPECT_EQ(error_of(text), "a.toml:" + std::to_string(line) + std::string(kRefusal)) << text;
  }
}

TEST(TomlParse, OtherFaultsAreLeftToTheParser) {
  for (const char* text :
       {"[=]", "[ .a]", "[[,]]", "[#", "[\x01]", "[+a]", "a = [1, }", "a = 1979-05-27TA7:32:00Z"}) {
    EXPECT_EQ(error_of("a1 = 1\n" + std::string(text)).find("a.toml:2: not TOML: Error while"), 0u)
        << text << ": " << error_of(text);
  }
}

TEST(TomlParse, TellsAnArrayFromATable) {
  const char* good = "a = [\n[ +1,\n # ]\n 2],\n[\n+5.0]]\n[-b]\n[ _c ]\n[[ 'd' ]]\n[\"\"]\n[0]";
  EXPECT_EQ(error_of("[a.'\xcb\x99']\n[[\"\xcb\x99\".'\xcb\x99']]\nb = \"\xcb\x99\""), "");
  EXPECT_EQ(error_of(good), "") << "an array in an array is no table";
}

TEST(TomlParse, NamesTheLineOfWhatIsNoToml) {
  for (const char* text : {"\na = ", "\n\"", "\na = \"\"\"", "\na = \"\\", "\na = '''",
                           "\na = \"\xff\"", "\na = \"\"\"\\"}) {
    EXPECT_EQ(error_of(text).find("a.toml:2: not TOML: "), 0u) << text << ": " << error_of(text);
  }
}

}  // namespace
}  // namespace gearshift
