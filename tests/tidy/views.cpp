#include <cctype>

#include "tests/tidy/tidy.h"

namespace gearshift::tidy {
namespace {

// Walks a C++ text once, writing each character to the view it belongs to and a blank to the
// others.
class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text), code_(text), literals_(text) {}

  Views split() {
    while (at_ < text_.size()) step();
    return {lines(std::string(text_)), lines(code_), lines(literals_)};
  }

 private:
  static std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> result;
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      result.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return result;
  }

  bool starts(std::string_view prefix) const { return text_.substr(at_).starts_with(prefix); }
  char previous() const { return at_ == 0 ? '\n' : text_[at_ - 1]; }

  // Consumes `count` characters, blanking them in the views that do not keep them.
  void take(std::size_t count, bool in_code, bool in_literals) {
    for (const std::size_t end = std::min(at_ + count, text_.size()); at_ < end; ++at_) {
      if (text_[at_] == '\n') continue;
      line_is_blank_ = line_is_blank_ && std::isspace(static_cast<unsigned char>(text_[at_])) != 0;
      if (!in_code) code_[at_] = ' ';
      if (!in_literals) literals_[at_] = ' ';
    }
  }
  void take_until(std::string_view end, bool in_literals) {
    const std::size_t found = text_.find(end, at_);
    take(found == std::string_view::npos ? text_.size() - at_ : found - at_ + end.size(), false,
         in_literals);
  }

  void step() {
    if (text_[at_] == '\n') {
      ++at_;
      line_is_blank_ = true;
    } else if (starts("//")) {
      take(std::min(text_.find('\n', at_), text_.size()) - at_, false, false);
    } else if (starts("/*")) {
      take(2, false, false);
      take_until("*/", false);
    } else if (text_[at_] == '#' && line_is_blank_) {
      take_directive();
    } else if (starts("R\"") && !is_word(previous())) {
      const std::size_t open = std::min(text_.find('(', at_), text_.size());
      const std::string close = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
      take(open - at_ + 1, false, true);
      take_until(close, true);
    } else if (text_[at_] == '"') {
      take_quoted('"', true);
    } else if (text_[at_] == '\'' && !is_word(previous())) {
      take_quoted('\'', false);  // a quote after a digit separates thousands
    } else {
      take(1, true, false);
    }
  }

  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  }

  void take_quoted(char quote, bool in_literals) {
    take(1, false, in_literals);
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
      take(text_[at_] == '\\' ? 2 : 1, false, in_literals);
    }
    if (at_ < text_.size() && text_[at_] == quote) take(1, false, in_literals);
  }

  // A directive is read from the raw line by those who need it; macros may have any braces.
  void take_directive() {
    while (at_ < text_.size() && text_[at_] != '\n') {
      take(text_[at_] == '\\' ? 2 : 1, false, false);
    }
  }

  std::string_view text_;
  std::string code_;
  std::string literals_;
  std::size_t at_ = 0;
  bool line_is_blank_ = true;
};

}  // namespace

Views split_views(std::string_view text) { return Splitter(text).split(); }

bool is_cpp(std::string_view path) { return path.ends_with(".cpp") || is_header(path); }
bool is_header(std::string_view path) { return path.ends_with(".h") || path.ends_with(".hpp"); }
bool below(std::string_view path, std::string_view folder) {
  return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

}  // namespace gearshift::tidy
