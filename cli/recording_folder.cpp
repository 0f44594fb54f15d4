#include "cli/recording_folder.h"

#include <fcntl.h>
#include <spdlog/fmt/chrono.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "boards/file_descriptor.h"
#include "cli/output_files.h"
#include "trace/calling_user.h"
#include "trace/database.h"
#include "trace/recording_schema.h"
#include "trace/replace_file.h"

namespace gearshift {
namespace {

[[noreturn]] void refuse(const std::string& folder, const std::string& why) {
  throw std::invalid_argument(fmt::format("--record {}: {}", folder, why));
}

[[noreturn]] void fail(const std::string& folder, int error) {
  throw std::runtime_error(
      fmt::format("--record {}: no recording can be made there: {}; name a folder that is there, "
                  "writable and not full",
                  folder, std::strerror(error)));
}

// Without the slash at its end, which would follow a link whoever has made it.
std::filesystem::path behind(const std::string& folder) {
  const std::size_t end = folder.find_last_not_of('/');
  const std::string name = end == std::string::npos ? "/" : folder.substr(0, end + 1);
  try {
    return behind_own_links(name);
  } catch (const std::runtime_error& another_users) {
    throw std::runtime_error(std::string("--record ") + another_users.what());
  }
}

bool is_own(uid_t owner) { return owner == geteuid() || owner == calling_user().user; }

// -1 where there is none yet.
int open_folder(const std::string& folder, const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor >= 0 || errno == ENOENT) return descriptor;
  if (errno == ENOTDIR) refuse(folder, "is no folder; leave out the slash at its end for a file");
  fail(folder, errno);
}

void check_own(const std::string& folder, int descriptor) {
  struct stat found {};
  if (fstat(descriptor, &found) != 0) fail(folder, errno);
  if ((is_own(found.st_uid) || found.st_uid == 0) && (found.st_mode & S_IWOTH) == 0) return;
  refuse(folder,
         "--keep-recordings removes files in a folder of this user's alone, that not all may "
         "write; name such a folder, or leave --keep-recordings out");
}

// Of root it is for its owner alone, who called sudo: as the recordings in it.
int make_folder(const std::string& folder, const std::filesystem::path& path) {
  const bool as_root = geteuid() == 0;
  if (mkdir(path.c_str(), as_root ? 0700 : 0777) != 0) fail(folder, errno);
  const int descriptor = open_folder(folder, path);
  if (descriptor < 0) fail(folder, errno);
  const CallingUser caller = calling_user();
  // Where folders cannot be given away, it stays root's.
  [[maybe_unused]] const int given = as_root ? fchown(descriptor, caller.user, caller.group) : 0;
  return descriptor;
}

// By when it began, and of those that began in one second by their number.
struct Found {
  std::string time;
  std::uint64_t number = 1;
  std::string name;

  friend bool operator<(const Found& one, const Found& other) {
    return std::tie(one.time, one.number) < std::tie(other.time, other.number);
  }
};

bool is_numeral(char letter) { return letter >= '0' && letter <= '9'; }

// What new_recording_in names: "20261129T052917Z.db", "20261129T052917Z-2.db".
std::optional<Found> named_as_ours(const std::string& name) {
  constexpr std::string_view kForm = "00000000T000000Z";
  constexpr std::string_view kEnding = ".db";
  constexpr std::size_t kMostDigits = 9;
  if (name.size() < kForm.size() + kEnding.size() || !name.ends_with(kEnding)) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool fits = kForm[i] == '0' ? is_numeral(name[i]) : name[i] == kForm[i];
    if (!fits) return std::nullopt;
  }
  Found found{name.substr(0, kForm.size()), 1, name};
  std::string_view number(name);
  number = number.substr(kForm.size(), number.size() - kForm.size() - kEnding.size());
  if (number.empty()) return found;
  number.remove_prefix(1);
  const bool counts = name[kForm.size()] == '-' && !number.empty() &&
                      number.size() <= kMostDigits &&
                      std::all_of(number.begin(), number.end(), is_numeral);
  if (!counts) return std::nullopt;
  found.number = std::stoull(std::string(number));
  return found;
}

// A killed run may have left all of it in its log, and in the file the first words of SQLite alone.
bool is_recording(int folder, const std::string& name) {
  const FileDescriptor file{
      openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  struct stat found {};
  if (file.value < 0 || fstat(file.value, &found) != 0) return false;
  if (!S_ISREG(found.st_mode) || !is_own(found.st_uid)) return false;
  constexpr std::string_view kMagic{"SQLite format 3\0", 16};
  constexpr std::size_t kApplicationAt = 68;  // four bytes, the highest first
  std::array<unsigned char, 100> head{};
  if (pread(file.value, head.data(), head.size(), 0) != ssize_t{head.size()}) return false;
  if (std::memcmp(head.data(), kMagic.data(), kMagic.size()) != 0) return false;
  std::int64_t application = 0;
  for (std::size_t i = 0; i < 4; ++i) application = application << 8 | head[kApplicationAt + i];
  if (application == kRecordingApplication) return true;
  return application == 0 && faccessat(folder, (name + "-wal").c_str(), F_OK, 0) == 0;
}

void remove_oldest(const std::filesystem::path& path, int folder, std::uint32_t keep) {
  std::vector<Found> all;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    std::optional<Found> found = named_as_ours(entry.path().filename().string());
    if (found && is_recording(folder, found->name)) all.push_back(std::move(*found));
  }
  std::sort(all.begin(), all.end());
  std::size_t left = all.size();
  for (const Found& one : all) {
    if (left < keep) return;
    if (user_of_database(path / one.name)) continue;
    // The file first: what is left of a removal that was cut short is no recording without it.
    for (const std::string& file : recording_files(one.name)) {
      unlinkat(folder, file.c_str(), 0);
    }
    --left;
  }
}

// Behind all that there are of that second, whatever is left of them: one that is removed does not
// give its name to a newer one.
std::string next_name(const std::filesystem::path& path, std::int64_t started_unix_ms) {
  const auto started_unix_s = static_cast<std::time_t>(started_unix_ms / 1000);
  const std::string time = fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(started_unix_s));
  std::uint64_t number = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    std::string name = entry.path().filename().string();
    name.resize(std::min(name.size(), name.find(".db") + std::string_view(".db").size()));
    const std::optional<Found> found = named_as_ours(name);
    if (found && found->time == time) number = std::max(number, found->number);
  }
  return number == 0 ? time + ".db" : fmt::format("{}-{}.db", time, number + 1);
}

}  // namespace

bool names_folder(const std::string& record) { return record.ends_with('/'); }

void check_recording_folder(const std::string& folder, std::uint32_t keep) {
  const std::filesystem::path path = behind(folder);
  const FileDescriptor found{open_folder(folder, path)};
  if (found.value >= 0 && keep > 0) check_own(folder, found.value);
  const std::filesystem::path written = found.value >= 0 ? path : folder_of(path);
  if (access(written.c_str(), W_OK | X_OK) != 0) fail(folder, errno);
}

std::string new_recording_in(const std::string& folder, std::uint32_t keep,
                             std::int64_t started_unix_ms) {
  const std::filesystem::path path = behind(folder);
  const int there = open_folder(folder, path);
  const FileDescriptor found{there >= 0 ? there : make_folder(folder, path)};
  const std::string name = next_name(path, started_unix_ms);
  if (keep > 0) {
    check_own(folder, found.value);
    remove_oldest(path, found.value, keep);
  }
  return (path / name).string();
}

}  // namespace gearshift
