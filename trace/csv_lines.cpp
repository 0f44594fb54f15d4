#include "trace/csv_lines.h"

#include <algorithm>
#include <array>
#include <fstream>

namespace gearshift {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kBlanks = " \t";

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 80;
  std::string shown(text.substr(0, kMost));
  if (text.size() > kMost) shown += "...";
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

std::string read_csv_text(const std::filesystem::path& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    throw CsvError(path.string() + ": cannot be read: is it there, and a file?");
  }
  std::string text;
  std::array<char, 65536> block{};
  while (text.size() <= most && (file.read(block.data(), block.size()) || file.gcount() > 0)) {
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) throw CsvError(path.string() + ": cannot be read to its end");
  if (text.size() > most) {
    throw CsvError(path.string() + ": has more than " + std::to_string(most) + " bytes");
  }
  return text;
}

CsvLines::CsvLines(std::string_view text, std::string_view source) : rest_(text), source_(source) {
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

void CsvLines::fail_at(std::size_t line, const std::string& message) const {
  throw CsvError(source_ + ":" + std::to_string(line) + ": " + message);
}

std::string_view CsvLines::take_line() {
  const std::size_t end = std::min(rest_.find('\n'), rest_.size());
  std::string_view text = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  ++line_;
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

bool CsvLines::next() {
  if (rest_.empty()) return false;
  const std::string_view text = take_line();
  if (text.empty()) {
    if (rest_.find_first_not_of("\r\n") == std::string_view::npos) return false;
    fail("the line is empty; remove it");
  }
  if (text.size() > kMostBytes) {
    fail("the line has " + std::to_string(text.size()) + " bytes; at most " +
         std::to_string(kMostBytes) + " are allowed");
  }
  split(text);
  return true;
}

void CsvLines::split(std::string_view text) {
  fields_.clear();
  while (true) {
    if (fields_.size() == kMostFields) {
      fail("the line has more than " + std::to_string(kMostFields) + " fields");
    }
    const bool quoted = text.starts_with('"');
    fields_.push_back(quoted ? take_quoted(text) : take_plain(text));
    if (text.empty()) return;
    text.remove_prefix(1);  // the comma
  }
}

std::string CsvLines::take_quoted(std::string_view& rest) const {
  std::string field;
  rest.remove_prefix(1);
  while (true) {
    const std::size_t quote = rest.find('"');
    if (quote == std::string_view::npos) {
      fail("a quote is open at the end of the line; close it (no value spans two lines)");
    }
    field += rest.substr(0, quote);
    rest.remove_prefix(quote + 1);
    if (!rest.starts_with('"')) break;
    field += '"';  // a doubled quote stands for one
    rest.remove_prefix(1);
  }
  if (!rest.empty() && rest.front() != ',') {
    fail("'" + printable(rest) + "' follows a closing quote; write a comma there");
  }
  return field;
}

std::string CsvLines::take_plain(std::string_view& rest) const {
  const std::string_view field = rest.substr(0, rest.find(','));
  rest.remove_prefix(field.size());
  if (field.find('"') != std::string_view::npos) {
    fail("'" + printable(field) + "' has a quote inside; put the whole value in quotes");
  }
  const std::size_t begin = std::min(field.find_first_not_of(kBlanks), field.size());
  const std::size_t end = field.find_last_not_of(kBlanks) + 1;
  return std::string(begin < end ? field.substr(begin, end - begin) : std::string_view());
}

}  // namespace gearshift
