// The text of the knob journal: what a daemon saved of each file before it wrote to the board.
//
// One line an item, fields separated by one space, each field percent-encoded (every byte outside
// 0x21..0x7e, and '%'):
//   gearshift-journal 1
//   boot <boot id>
//   sysroot <prefix>
//   <role> <path> <text>        any number; role as role_name() spells it
//   end <number of entries> <CRC-32 of all bytes before this line, 8 hexadecimal digits>
// The last line makes a truncated or damaged journal recognisable. The file is replaced as a whole
// (written beside, synced, renamed), so a crash leaves the old one or the new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gearshift {

// A journal that cannot be used: what() has the line and what is wrong with it.
struct JournalError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a saved file does; decides when it is written back.
enum class SavedRole : std::uint8_t {
  core_online,  // <cpu>/online
  limit_max,    // scaling_max_freq, max_freq; its partner is the limit_min in the same folder
  limit_min,
  memory_cap,   // nvpmodel's cap, Hz
  memory_rate,  // Hz
  memory_state,
  memory_lock,  // mrq_rate_locked
  fan_duty,     // 0..255
  fan_switch,   // who sets the duty; saved where it was not us
  group,        // path: a control group that the daemon made; text: empty
  group_home,   // path: the group; text: "<pid> <folder>", where the process was before
  controllers,  // path: cgroup.subtree_control; text: what takes our change back, "-cpu -cpuset"
  gpu_power_limit,  // path: gpu_path(); text: mW
  gpu_clock_lock,   // path: gpu_path(); text: "unlocked", the one state that can be known
  gpu_memory_lock,
};
inline constexpr std::size_t kSavedRoles = 15;
std::string_view role_name(SavedRole role);

struct SavedEntry {
  SavedRole role = SavedRole::core_online;
  std::string path;  // as on the board, without the prefix
  std::string text;  // as read, trimmed

  friend bool operator==(const SavedEntry&, const SavedEntry&) = default;
};

struct JournalText {
  std::string boot_id;
  std::string prefix;
  std::vector<SavedEntry> entries;

  friend bool operator==(const JournalText&, const JournalText&) = default;
};

inline constexpr std::size_t kMaxJournalBytes = 1 << 20;
inline constexpr std::size_t kMaxJournalEntries = 4096;

std::string format_journal(const JournalText& journal);
// How many bytes the line of an entry takes up in it.
std::size_t line_bytes(const SavedEntry& entry);
// Takes any bytes. Throws JournalError unless they are a whole, undamaged journal of this version
// within the limits above whose paths are absolute and without "..".
JournalText parse_journal(std::string_view bytes);

}  // namespace gearshift
