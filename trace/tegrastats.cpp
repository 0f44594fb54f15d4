#include "trace/tegrastats.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <istream>
#include <vector>

namespace gearshift {
namespace {

constexpr std::size_t kLongestLine = 64 << 10;
constexpr std::size_t kMostItems = 256;         // cores, zones or rails of a line
constexpr double kZoneIsOff_c = -250;           // a powered-down zone tells -256
constexpr std::int64_t kMostReading = 1 << 30;  // of any number in a line

[[noreturn]] void fail_too_much(std::string_view source) {
  throw TegrastatsError(std::string(source) + ": more than " +
                        std::to_string(kMostTegrastatsLines) +
                        " samples, or a line of more than 64 KiB; split the log");
}

// Walks over a piece of text and takes what it expects.
class Scan {
 public:
  explicit Scan(std::string_view text) : rest_(text) {}

  bool empty() const { return rest_.empty(); }
  bool take(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  std::optional<std::int64_t> integer() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0 || value > kMostReading) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  std::optional<double> number() {
    double value = 0;
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, std::chars_format::fixed);
    const bool sane = error == std::errc() && value > -1000 && value < 1000;
    if (!sane) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
  return words;
}

// "07-09-2024" and "13:31:31".
std::optional<std::int64_t> stamp_of(std::string_view date, std::string_view time) {
  Scan day_scan(date);
  const auto month = day_scan.integer();
  const bool first = day_scan.take("-");
  const auto day = day_scan.integer();
  const bool second = day_scan.take("-");
  const auto year = day_scan.integer();
  if (!month || !first || !day || !second || !year || !day_scan.empty()) return std::nullopt;
  Scan time_scan(time);
  const auto hours = time_scan.integer();
  const bool third = time_scan.take(":");
  const auto minutes = time_scan.integer();
  const bool fourth = time_scan.take(":");
  const auto whole_seconds = time_scan.integer();
  if (!hours || !third || !minutes || !fourth || !whole_seconds || !time_scan.empty()) {
    return std::nullopt;
  }
  if (*month > 12 || *day > 31 || *year > 9999) return std::nullopt;
  if (*hours > 24 || *minutes > 60 || *whole_seconds > 61) return std::nullopt;
  const std::chrono::year_month_day calendar(std::chrono::year(static_cast<int>(*year)),
                                             std::chrono::month(static_cast<unsigned>(*month)),
                                             std::chrono::day(static_cast<unsigned>(*day)));
  if (!calendar.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(calendar).time_since_epoch().count();
  return days * 86400 + *hours * 3600 + *minutes * 60 + *whole_seconds;
}

// "[14%@2188,off,0%@729]". None of a list that is cut off: its last clock may be, too.
std::vector<std::optional<TegrastatsCore>> cores_of(std::string_view text) {
  std::vector<std::optional<TegrastatsCore>> cores;
  Scan scan(text.substr(1));
  while (!scan.empty() && cores.size() < kMostItems) {
    if (scan.take("off")) {
      cores.emplace_back();
    } else {
      const auto load = scan.integer();
      const bool percent = scan.take("%");
      const auto clock = scan.take("@") ? scan.integer() : std::optional<std::int64_t>(0);
      if (!load || !percent || !clock) break;
      cores.push_back(TegrastatsCore{*load, *clock});
    }
    if (!scan.take(",")) break;
  }
  if (!scan.take("]") || !scan.empty()) return {};
  return cores;
}

// "4%", "4%@1377", "0%@[0,0]", "@[1000,1000]".
void read_load(std::string_view text, std::optional<std::int64_t>& percent,
               std::optional<std::int64_t>& clock_mhz) {
  Scan scan(text);
  if (const auto load = scan.integer()) {
    if (!scan.take("%")) return;
    percent = load;
  }
  if (!scan.take("@")) return;
  const bool clusters = scan.take("[");
  std::optional<std::int64_t> fastest_mhz;
  while (const auto clock = scan.integer()) {
    fastest_mhz = std::max(fastest_mhz.value_or(0), *clock);
    if (!clusters || !scan.take(",")) break;
  }
  const bool whole = (!clusters || scan.take("]")) && scan.empty();
  if (whole) clock_mhz = fastest_mhz;
}

// "1155/1155", "2412mW/2412mW", "5139mW/5139mW/5139mW": the first number.
std::optional<std::int64_t> rail_mw(std::string_view text) {
  Scan scan(text);
  const auto now = scan.integer();
  if (!now) return std::nullopt;
  scan.take("mW");
  int more = 0;
  while (scan.take("/")) {
    if (!scan.integer()) return std::nullopt;
    scan.take("mW");
    ++more;
  }
  if (more == 0 || !scan.empty()) return std::nullopt;
  return now;
}

// "CPU@46.5C", "cpu@52.968C/52.968C".
void read_temperature(std::string_view word, TegrastatsSample& sample) {
  const std::size_t at = word.find('@');
  if (at == std::string_view::npos || at == 0) return;
  Scan scan(word.substr(at + 1));
  const auto value = scan.number();
  if (!value || !scan.take("C")) return;
  if (scan.take("/")) {
    if (!scan.number() || !scan.take("C")) return;
  }
  if (!scan.empty() || *value < kZoneIsOff_c || sample.temperatures.size() == kMostItems) return;
  sample.temperatures.emplace_back(std::string(word.substr(0, at)), *value);
}

}  // namespace

std::optional<TegrastatsSample> parse_tegrastats(std::string_view line) {
  const std::vector<std::string_view> words = words_of(line);
  TegrastatsSample sample;
  if (words.size() >= 2) sample.stamp_s = stamp_of(words[0], words[1]);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string_view name = words[i];
    const std::string_view value = words[i + 1];
    if (name == "RAM") {
      Scan scan(value);
      const auto used = scan.integer();
      if (used && scan.take("/")) sample.ram_mb = used;
    } else if (name == "CPU" && value.starts_with("[")) {
      sample.cores = cores_of(value);
    } else if (name == "EMC_FREQ") {
      read_load(value, sample.emc_percent, sample.emc_mhz);
    } else if (name == "GR3D_FREQ") {
      read_load(value, sample.gpu_percent, sample.gpu_mhz);
    } else if (name != "NC" && sample.rails_mw.size() < kMostItems) {
      if (const auto power = rail_mw(value)) sample.rails_mw.emplace_back(name, *power);
    }
  }
  for (const std::string_view word : words) read_temperature(word, sample);
  if (!sample.ram_mb && sample.rails_mw.empty()) return std::nullopt;
  return sample;
}

TegrastatsLog read_tegrastats(std::istream& in, std::string_view source) {
  TegrastatsLog log;
  std::vector<char> text(kLongestLine + 1);  // a line and the end of a C string
  while (in.getline(text.data(), static_cast<std::streamsize>(text.size()))) {
    const auto taken = static_cast<std::size_t>(in.gcount());
    std::string_view line(text.data(), in.eof() ? taken : taken - 1);
    if (log.samples.size() == kMostTegrastatsLines) fail_too_much(source);
    if (in.eof()) line = line.substr(0, line.find_last_of(" \t") + 1);
    if (auto sample = parse_tegrastats(line)) {
      log.samples.push_back(std::move(*sample));
    } else if (!line.empty()) {
      ++log.other_lines;
    }
  }
  if (!in.eof() && !in.bad()) fail_too_much(source);
  if (log.samples.empty()) {
    throw TegrastatsError(std::string(source) +
                          ": no line is of tegrastats; one begins like \"RAM 331/3964MB (lfb "
                          "758x4MB) CPU [10%@102,...\", with or without a date before it");
  }
  return log;
}

}  // namespace gearshift
