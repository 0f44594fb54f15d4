#include "boards/toml_parse.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace gearshift {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
bool outside_ascii(char byte) { return static_cast<unsigned char>(byte) >= 0x80; }

// Walks over TOML as its parser does, knowing of strings, comments, brackets and of where a value
// stands. Past the first error of the text it may walk astray, as the parser does not come there.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  // The first byte that toml++ must not see.
  std::optional<std::size_t> first_refused() {
    while (at_ < end()) {
      const char byte = text_[at_];
      if (byte == '#') {
        skip_to("\n");
      } else if (byte == '"' || byte == '\'') {
        if (quotes(byte) < 3) {
          skip_line_string(byte);
        } else if (!skip_lines_string(byte)) {
          return at_;
        }
        line_begins_ = value_next_ = false;
      } else if (kMarks.find(byte) != std::string_view::npos) {
        ++at_;
        pass_mark(byte);
      } else {
        if (value_next_) skip_word();
        if (at_ < end() && outside_ascii(text_[at_])) return at_;
        if (!value_next_) ++at_;
        line_begins_ = value_next_ = false;
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr std::string_view kMarks = " \t\r\n=,[]{}";

  // What a byte between keys and values leads to; at_ is behind it.
  void pass_mark(char mark) {
    if (mark == ' ' || mark == '\t') return;
    const bool line_begins = std::exchange(line_begins_, mark == '\n');
    if (mark == '[' && (open_.ends_with('t') || (open_.empty() && line_begins))) {
      open_ += 't';
    } else if (mark == '[' || mark == '{') {
      open_ += mark;
    } else if ((mark == ']' || mark == '}') && !open_.empty()) {
      open_.pop_back();
    }
    const bool element = open_.ends_with('[') && mark != ']' && mark != '}';
    value_next_ = mark == '=' || element;
  }
  void skip_to(std::string_view ends) { at_ = std::min(text_.find_first_of(ends, at_), end()); }
  void skip_blank() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), end()); }
  std::size_t end() const { return text_.size(); }
  // A number, a date or a word: the parser looks ahead for its end, through quotes too. Stops at
  // its end or at a byte to refuse.
  void skip_word() {
    while (at_ < end() && !outside_ascii(text_[at_]) &&
           std::string_view("\r\n,]}#").find(text_[at_]) == std::string_view::npos) {
      ++at_;
    }
  }
  // How many of this quote follow each other here.
  std::size_t quotes(char quote) const {
    return std::min(text_.find_first_not_of(quote, at_), end()) - at_;
  }

  // A string of one line, at_ on its first quote.
  void skip_line_string(char quote) {
    for (++at_; at_ < end();) {
      skip_to(quote == '"' ? "\"\\\n" : "'\n");
      if (at_ == end() || text_[at_] != '\\') break;
      at_ = std::min(at_ + 2, end());
    }
    at_ = std::min(at_ + 1, end());
  }

  // The same for a string of several lines. Up to five quotes end it, the last three of them.
  // False where it stops at a byte to refuse.
  bool skip_lines_string(char quote) {
    for (at_ += 3; at_ < end();) {
      skip_to(quote == '"' ? "\"\\" : "'");
      const std::size_t count = quotes(quote);
      if (count >= 3) {
        at_ += std::min<std::size_t>(count, 5);
        return true;
      }
      at_ += count;
      if (count > 0 || at_ == end()) continue;
      const std::size_t escaped = ++at_;
      skip_blank();
      if (at_ < end() && outside_ascii(text_[at_])) return false;
      if (at_ == escaped && at_ < end()) ++at_;
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string open_;         // '[' of an array, '{' of a table in a line, 't' of a table's name
  bool line_begins_ = true;  // no key or value since the last line
  bool value_next_ = false;
};

}  // namespace

toml::table parse_toml(std::string_view text, std::string_view source) {
  const auto fail = [&](std::size_t line, std::string_view what) {
    throw TomlError(std::string(source) + ':' + std::to_string(line) + ": " + std::string(what));
  };
  if (const auto refused = Walk(text).first_refused()) {
    const std::string_view before = text.substr(0, *refused);
    const auto lines = std::count(before.begin(), before.end(), '\n');
    fail(static_cast<std::size_t>(lines) + 1,
         "a letter outside ASCII may stand in quotes and comments only, and not right after a "
         "backslash");
  }
  try {
    return toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    fail(error.source().begin.line, "not TOML: " + std::string(error.description()));
  }
  return {};
}

}  // namespace gearshift
