#include <algorithm>
#include <array>
#include <cctype>

#include "tests/tidy/tidy.h"

namespace gearshift::tidy {
namespace {

// Every top-level folder there is: a new one wants a reason in docs/decisions.
constexpr std::array<std::string_view, 17> kFolders = {
    "controller", "boards", "limits", "sensors",   "actuators",  "policies",
    "scripts",    "bridge", "trace",  "simulator", "evaluation", "cli",
    "tests",      "docs",   "bench",  "packaging", ".ci"};

// Words that say nothing about what a file is for.
constexpr std::array<std::string_view, 9> kEmptyWords = {
    "manager", "managers", "helper", "helpers", "util", "utils", "common", "impl", "misc"};
// Marks of unfinished work; spelt in two parts, so that this file does not carry them.
const std::array<std::string, 3> kMarks = {std::string("TO") + "DO", std::string("FIX") + "ME",
                                           std::string("XX") + "X"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool has_word(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos;
       at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(line[at - 1])) && (end == line.size() || !is_word(line[end]))) {
      return true;
    }
  }
  return false;
}

void check_path(const Source& source, std::vector<Finding>& findings) {
  const std::size_t slash = source.path.find('/');
  if (slash != std::string::npos) {
    const std::string folder = source.path.substr(0, slash);
    if (std::find(kFolders.begin(), kFolders.end(), folder) == kFolders.end()) {
      findings.push_back({source.path, 1, "folder",
                          folder + ": a new top-level folder wants a reason in docs/decisions/ "
                                   "and a line in tests/tidy/layout.cpp"});
    }
  }
  std::string word;
  for (char c : source.path + "/") {
    if (c != '/' && c != '_' && c != '-' && c != '.') {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (std::find(kEmptyWords.begin(), kEmptyWords.end(), word) != kEmptyWords.end()) {
      findings.push_back({source.path, 1, "file name", word + ": say what the file is for"});
    }
    word.clear();
  }
}

}  // namespace

std::vector<Finding> check_layout(const Source& source) {
  std::vector<Finding> findings;
  check_path(source, findings);
  if (is_header(source.path) && !source.text.starts_with("// ")) {
    findings.push_back({source.path, 1, "header comment",
                        "open with one sentence that says what the header is for"});
  }
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < source.text.size(); ++number) {
    const std::size_t end = std::min(source.text.find('\n', begin), source.text.size());
    const std::string_view line = std::string_view(source.text).substr(begin, end - begin);
    for (const std::string& mark : kMarks) {
      if (!has_word(line, mark)) continue;
      findings.push_back(
          {source.path, number, "unfinished", mark + ": finish it, or open an issue"});
    }
    begin = end + 1;
  }
  return findings;
}

}  // namespace gearshift::tidy
