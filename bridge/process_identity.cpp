#include "bridge/process_identity.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "controller/process_status.h"

namespace gearshift {
namespace {

// The 22nd word of /proc/PID/stat, of which the second, the program's name in brackets, may hold
// blanks and brackets.
std::optional<std::uint64_t> start_of(std::string_view line) {
  constexpr int kBlanksBefore = 20;  // behind the name
  std::size_t at = line.rfind(')');
  for (int i = 0; i < kBlanksBefore && at < line.size(); ++i) at = line.find(' ', at + 1);
  if (at >= line.size()) return std::nullopt;
  std::uint64_t started = 0;
  const char* const end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data() + at + 1, end, started);
  return error == std::errc() ? std::optional(started) : std::nullopt;
}

std::string text_of(int folder, const char* name) {
  const int file = ::openat(folder, name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::array<char, 4096> text{};  // each is shorter
  const ssize_t size = ::read(file, text.data(), text.size());
  ::close(file);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

}  // namespace

// The folder stays that of the process it was opened for, so that both texts are of one.
std::optional<ProcessIdentity> identify_process(std::int32_t pid) {
  if (pid <= 0) return std::nullopt;
  const std::string path = "/proc/" + std::to_string(pid);
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return std::nullopt;
  const std::optional<std::uint32_t> user = user_in_status(text_of(folder, "status"));
  const std::optional<std::uint64_t> started = start_of(text_of(folder, "stat"));
  ::close(folder);
  if (!user || !started) return std::nullopt;
  return ProcessIdentity{*user, *started};
}

}  // namespace gearshift
