// Feeds parse_journal with any bytes: nothing but a JournalError may come out, and what is accepted
// must keep its bounds, name absolute paths only and come back as it was. The fuzzer cannot guess a
// checksum, so the bytes are tried a second time with a last line that fits them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "actuators/journal_text.h"

namespace {

// As in the specification of the format: CRC-32 of IEEE 802.3.
std::string end_line(std::string_view body) {
  std::uint32_t crc = 0xffffffffu;
  for (const char byte : body) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0xedb88320u : 0u);
  }
  const auto lines = std::count(body.begin(), body.end(), '\n');
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "end %ld %08x\n", static_cast<long>(lines) - 3, ~crc);
  return text.data();
}

void parse(std::string_view bytes) {
  try {
    const gearshift::JournalText journal = gearshift::parse_journal(bytes);
    if (journal.entries.size() > gearshift::kMaxJournalEntries) std::abort();
    for (const gearshift::SavedEntry& entry : journal.entries) {
      if (!entry.path.starts_with('/')) std::abort();
      if ((entry.path + '/').find("/../") != std::string::npos) std::abort();
    }
    if (gearshift::parse_journal(gearshift::format_journal(journal)) != journal) std::abort();
  } catch (const gearshift::JournalError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  parse(bytes);
  parse(std::string(bytes) + end_line(bytes));
  return 0;
}
