#include "actuators/journal_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>

namespace gearshift {
namespace {

constexpr std::string_view kMagic = "gearshift-journal";
constexpr std::string_view kVersion = "1";

constexpr std::array<std::string_view, kSavedRoles> kRoleNames = {
    "core_online",  "limit_max",   "limit_min",       "memory_cap",     "memory_rate",
    "memory_state", "memory_lock", "fan_duty",        "fan_switch",     "group",
    "group_home",   "controllers", "gpu_power_limit", "gpu_clock_lock", "gpu_memory_lock"};

// CRC-32 as of IEEE 802.3, bit by bit: a journal is a few kilobytes and written once.
std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

std::string crc_text(std::string_view bytes) {
  std::array<char, 9> text{};
  std::snprintf(text.data(), text.size(), "%08x", crc32(bytes));
  return {text.data(), 8};
}

bool plain(char letter) { return letter > 0x20 && letter < 0x7f && letter != '%'; }

void append_field(std::string& line, std::string_view field) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (!line.empty() && line.back() != '\n') line += ' ';
  for (const char letter : field) {
    if (plain(letter)) {
      line += letter;
      continue;
    }
    const auto byte = static_cast<unsigned char>(letter);
    line += '%';
    line += kDigits[byte >> 4];
    line += kDigits[byte & 15];
  }
}

void append_entry(std::string& text, const SavedEntry& entry) {
  append_field(text, role_name(entry.role));
  append_field(text, entry.path);
  append_field(text, entry.text);
  text += '\n';
}

[[noreturn]] void fail(std::size_t line, const std::string& what) {
  throw JournalError("line " + std::to_string(line) + ": " + what);
}

std::optional<unsigned> hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return static_cast<unsigned>(letter - '0');
  if (letter >= 'a' && letter <= 'f') return static_cast<unsigned>(letter - 'a' + 10);
  return std::nullopt;
}

std::string decode(std::string_view field, std::size_t line) {
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (plain(field[i])) {
      text += field[i];
      continue;
    }
    const auto high = field[i] == '%' && i + 2 < field.size() ? hex_digit(field[i + 1])
                                                              : std::optional<unsigned>();
    const auto low = high ? hex_digit(field[i + 2]) : std::optional<unsigned>();
    if (!low) fail(line, "a field holds a byte that should be percent-encoded");
    text += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return text;
}

// The fields of one line, which are separated by exactly one space; the last one may be empty.
template <std::size_t N>
std::array<std::string, N> split(std::string_view text, std::size_t line) {
  std::array<std::string, N> fields;
  for (std::size_t i = 0; i < N; ++i) {
    const std::size_t space = text.find(' ');
    if ((space == std::string_view::npos) != (i + 1 == N)) {
      fail(line, "should have " + std::to_string(N) + " fields");
    }
    fields[i] = decode(text.substr(0, space), line);
    if (space != std::string_view::npos) text.remove_prefix(space + 1);
  }
  return fields;
}

SavedRole parse_role(const std::string& name, std::size_t line) {
  const auto found = std::find(kRoleNames.begin(), kRoleNames.end(), name);
  if (found == kRoleNames.end()) fail(line, "unknown role '" + name.substr(0, 40) + "'");
  return static_cast<SavedRole>(found - kRoleNames.begin());
}

// A journal names files to be written as root: nothing relative, nothing that climbs.
void check_path(const std::string& path, std::size_t line) {
  if (!path.starts_with('/') || path.find('\0') != std::string::npos ||
      (path + '/').find("/../") != std::string::npos) {
    fail(line, "not an absolute path of a board: '" + path.substr(0, 80) + "'");
  }
}

// Hands out the lines of a journal and counts them.
class Lines {
 public:
  explicit Lines(std::string_view bytes) : bytes_(bytes) {}

  std::string_view next() {
    const std::size_t end = bytes_.find('\n', at_);
    ++number_;
    if (end == std::string_view::npos) {
      fail(number_, at_ == bytes_.size() ? "the journal ends too early" : "the line has no end");
    }
    const std::string_view line = bytes_.substr(at_, end - at_);
    begin_ = at_;
    at_ = end + 1;
    return line;
  }
  bool at_end() const { return at_ == bytes_.size(); }
  std::size_t number() const { return number_; }
  std::string_view before() const { return bytes_.substr(0, begin_); }  // this line

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;
  std::size_t number_ = 0;
};

std::string parse_header(Lines& lines, std::string_view key) {
  const std::string_view line = lines.next();
  const auto fields = split<2>(line, lines.number());
  if (fields[0] != key) fail(lines.number(), "should begin with '" + std::string(key) + "'");
  return fields[1];
}

void check_end(const Lines& lines, std::string_view line, std::size_t entries) {
  const auto fields = split<3>(line, lines.number());
  if (fields[1] != std::to_string(entries)) {
    fail(lines.number(),
         "says " + fields[1].substr(0, 20) + " entries, there are " + std::to_string(entries));
  }
  if (fields[2] != crc_text(lines.before())) {
    fail(lines.number(), "the checksum does not fit: the journal was damaged or edited");
  }
  if (!lines.at_end()) fail(lines.number() + 1, "there is text after the end");
}

}  // namespace

std::string_view role_name(SavedRole role) { return kRoleNames[static_cast<std::size_t>(role)]; }

std::string format_journal(const JournalText& journal) {
  std::string text;
  append_field(text, kMagic);
  append_field(text, kVersion);
  text += "\nboot";
  append_field(text, journal.boot_id);
  text += "\nsysroot";
  append_field(text, journal.prefix);
  text += '\n';
  for (const SavedEntry& entry : journal.entries) append_entry(text, entry);
  return text + "end " + std::to_string(journal.entries.size()) + ' ' + crc_text(text) + '\n';
}

std::size_t line_bytes(const SavedEntry& entry) {
  std::string line;
  append_entry(line, entry);
  return line.size();
}

JournalText parse_journal(std::string_view bytes) {
  if (bytes.size() > kMaxJournalBytes) {
    throw JournalError("it has " + std::to_string(bytes.size()) + " bytes, more than " +
                       std::to_string(kMaxJournalBytes));
  }
  Lines lines(bytes);
  const std::string version = parse_header(lines, kMagic);
  if (version != kVersion) {
    fail(lines.number(), "format version " + version.substr(0, 20) + ", this program knows " +
                             std::string(kVersion));
  }
  JournalText journal;
  journal.boot_id = parse_header(lines, "boot");
  journal.prefix = parse_header(lines, "sysroot");
  while (true) {
    const std::string_view line = lines.next();
    if (line.starts_with("end ")) {
      check_end(lines, line, journal.entries.size());
      return journal;
    }
    if (journal.entries.size() == kMaxJournalEntries) fail(lines.number(), "too many entries");
    auto fields = split<3>(line, lines.number());
    const SavedRole role = parse_role(fields[0], lines.number());
    check_path(fields[1], lines.number());
    journal.entries.push_back({role, std::move(fields[1]), std::move(fields[2])});
  }
}

}  // namespace gearshift
