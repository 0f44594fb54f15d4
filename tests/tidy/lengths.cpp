#include <algorithm>
#include <array>

#include "tests/tidy/tidy.h"

namespace gearshift::tidy {
namespace {

constexpr std::size_t kMaxFileLines = 400;
constexpr std::size_t kMaxFunctionLines = 70;

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \n");
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

// "template <typename T> struct X" is "struct X".
std::string_view without_template(std::string_view head) {
  while (head.starts_with("template")) {
    int depth = 0;
    std::size_t at = head.find('<');
    for (; at < head.size(); ++at) {
      if (head[at] == '<') ++depth;
      if (head[at] == '>' && --depth == 0) break;
    }
    head = at < head.size() ? trim(head.substr(at + 1)) : "";
  }
  return head;
}

enum class Opens { scope, function, value };

// What a '{' opens that stands outside any function, from the statement before it.
Opens what_opens(std::string_view statement) {
  const std::string_view head = without_template(trim(statement));
  const std::size_t parameters = head.find('(');
  constexpr std::array<std::string_view, 7> kScopes = {
      "namespace", "inline namespace", "extern", "class ", "struct ", "union ", "enum "};
  if (parameters == std::string_view::npos) {
    const bool scope = std::any_of(kScopes.begin(), kScopes.end(),
                                   [&](std::string_view word) { return head.starts_with(word); });
    return scope ? Opens::scope : Opens::value;
  }
  const std::string_view before = head.substr(0, parameters);
  const bool assigns = head.ends_with('=') || (before.find('=') != std::string_view::npos &&
                                               before.find("operator") == std::string_view::npos);
  return assigns ? Opens::value : Opens::function;
}

struct Function {
  std::string head;   // the statement up to its '{'
  std::size_t first;  // line where the statement begins, from 1
  std::size_t last;   // line of the closing brace
};

// Finds functions by their braces; good for formatted code without braces in macros.
class FunctionFinder {
 public:
  std::vector<Function> find(const std::vector<std::string>& code) {
    for (line_ = 1; line_ <= code.size(); ++line_) {
      for (char c : code[line_ - 1]) step(c);
      step('\n');
    }
    step(';');
    return std::move(functions_);
  }

 private:
  void step(char c) {
    if (depth_ > 0) {
      if (c == '{') ++depth_;
      if (c == '}' && --depth_ == 0) {
        closed_ = true;
        last_ = line_;
      }
      return;
    }
    const bool blank = c == ' ' || c == '\n';
    if (closed_ && !blank) settle(c);
    if (c == '(') ++parentheses_;
    if (c == ')') --parentheses_;
    if (c == '{') {
      open();
    } else if (parentheses_ == 0 && (c == ';' || c == '}')) {
      head_.clear();
    } else if (!blank || !head_.empty()) {
      if (head_.empty()) first_ = line_;
      head_ += c;
      if (head_ == "public:" || head_ == "private:" || head_ == "protected:") head_.clear();
    }
  }

  void open() {
    opened_ = parentheses_ > 0 ? Opens::value : what_opens(head_);
    if (opened_ == Opens::scope) {
      head_.clear();
    } else {
      depth_ = 1;
    }
  }

  // The character after a closing brace tells a body from the braces of a member initialiser or of
  // a value, after which the statement goes on.
  void settle(char next) {
    closed_ = false;
    if (opened_ == Opens::value || next == ',' || next == '{') return;
    functions_.push_back({std::string(trim(head_)), first_, last_});
    head_.clear();
  }

  std::vector<Function> functions_;
  std::string head_;
  Opens opened_ = Opens::scope;
  std::size_t line_ = 0;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
  int parentheses_ = 0;
  int depth_ = 0;
  bool closed_ = false;
};

bool has_length_limit(std::string_view path) {
  return is_cpp(path) || path.ends_with(".py") || path.ends_with(".lua");
}

std::string over(std::size_t lines, std::size_t limit) {
  return std::to_string(lines) + " lines, at most " + std::to_string(limit);
}

}  // namespace

std::vector<Finding> check_lengths(const Source& source, const Views& views) {
  std::vector<Finding> findings;
  if (!has_length_limit(source.path)) return findings;
  if (views.raw.size() > kMaxFileLines) {
    findings.push_back({source.path, views.raw.size(), "file length",
                        over(views.raw.size(), kMaxFileLines) + ": split it by what it is for"});
  }
  if (!is_cpp(source.path)) return findings;
  for (const Function& function : FunctionFinder().find(views.code)) {
    const std::size_t lines = function.last - function.first + 1;
    if (lines <= kMaxFunctionLines) continue;
    const std::string head = function.head.substr(0, function.head.find('('));
    findings.push_back(
        {source.path, function.first, "function length",
         head + ": " + over(lines, kMaxFunctionLines) + ": give its steps functions with names"});
  }
  return findings;
}

}  // namespace gearshift::tidy
