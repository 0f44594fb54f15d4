// The lines of a CSV text (RFC 4180, one record a line), split into fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gearshift {

// A file that cannot be used: what() has file, line, column, value and what is expected there.
struct CsvError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The largest batch size that a file may name, in samples.
inline constexpr std::int32_t kMostBatchSize = 1'000'000;

// A file may hold any bytes; an error message may not: at most 80 characters of printable ASCII.
std::string printable(std::string_view text);

// The bytes of a file. Throws CsvError where it cannot be read or has more than `most` bytes.
std::string read_csv_text(const std::filesystem::path& path, std::size_t most);

// Takes LF and CRLF, a byte order mark, quoted fields with doubled quotes, and empty lines at the
// end. An empty line before another, a quoted field over two lines, a line of more than kMostBytes
// and a field number above kMostFields are errors. `text` outlives the object.
class CsvLines {
 public:
  static constexpr std::size_t kMostBytes = 4096;
  static constexpr std::size_t kMostFields = 64;

  CsvLines(std::string_view text, std::string_view source);

  // Goes to the next line; false at the end. Throws CsvError.
  bool next();
  std::size_t line() const { return line_; }  // 1 is the first
  // Blanks around a field that is not quoted are left out.
  const std::vector<std::string>& fields() const { return fields_; }
  // "FILE:LINE: MESSAGE", of the line at hand or of an earlier one.
  [[noreturn]] void fail(const std::string& message) const { fail_at(line_, message); }
  [[noreturn]] void fail_at(std::size_t line, const std::string& message) const;

 private:
  std::string_view take_line();
  void split(std::string_view text);
  // Takes the field at the front of `rest`, and leaves the comma behind it or nothing.
  std::string take_quoted(std::string_view& rest) const;
  std::string take_plain(std::string_view& rest) const;

  std::string_view rest_;
  std::string source_;
  std::size_t line_ = 0;
  std::vector<std::string> fields_;
};

}  // namespace gearshift
