// The one door to device files: every path of a board is opened below one prefix.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gearshift {

// A device file that could not be opened, read or written: what() names path, value and errno text;
// code() is the errno.
class FileError : public std::runtime_error {
 public:
  FileError(const std::string& what, int code);
  int code() const { return code_; }

 private:
  int code_;
};

// An open device file that is read or written again and again: each read starts at offset 0.
class DeviceFile {
 public:
  DeviceFile(DeviceFile&&) noexcept;
  DeviceFile& operator=(DeviceFile&&) noexcept;
  ~DeviceFile();

  // The trimmed text, in a buffer that the next read overwrites; at most 4095 bytes. No allocation.
  // Throws FileError.
  std::string_view read();
  // The leading integer of the text ("4000 ma" is 4000). Throws FileError (EINVAL where there is
  // none).
  std::int64_t read_integer();
  // The same, without throwing: nullopt on any failure, errno kept in last_error().
  std::optional<std::int64_t> try_read_integer() noexcept;
  // The same, of a text that is a number and nothing else: EINVAL for "45.5" and "45000 C".
  std::optional<std::int64_t> try_read_whole_integer() noexcept;
  int last_error() const { return last_error_; }
  // One write of the whole text at offset 0, as sysfs wants it. Throws FileError. Counted by the
  // Sysroot.
  void write(std::string_view text);
  const std::string& path() const { return path_; }

 private:
  friend class Sysroot;
  static constexpr std::size_t kBufferBytes = 4096;
  DeviceFile(class Sysroot* root, std::string path, int descriptor);
  // The trimmed text of one read, or nullopt with last_error_ set.
  std::optional<std::string_view> read_text() noexcept;
  // Of the text's start, which is taken off it; nullopt with last_error_ set.
  std::optional<std::int64_t> take_integer(std::string_view& text) noexcept;
  [[noreturn]] void throw_last_error(std::string_view verb) const;

  class Sysroot* root_;
  std::string path_;  // as the operating system sees it: below the prefix
  int descriptor_ = -1;
  bool plain_ = false;  // on a file system that keeps old bytes behind a shorter text
  int last_error_ = 0;
  std::unique_ptr<std::array<char, kBufferBytes>> buffer_;
};

// Paths given to a Sysroot are absolute as on the board ("/sys/class/hwmon"). Symlinks inside the
// prefix that point to absolute paths are followed inside the prefix, and ".." never leaves it.
// The object outlives the files it opened.
class Sysroot {
 public:
  enum class Access : std::uint8_t { read, read_write };

  explicit Sysroot(std::filesystem::path prefix = "/");
  Sysroot(const Sysroot&) = delete;
  Sysroot& operator=(const Sysroot&) = delete;

  const std::filesystem::path& prefix() const { return prefix_; }
  bool exists(std::string_view path) const;
  bool writable(std::string_view path) const;  // by access(2), effective user
  // Sorted names; empty where the folder is missing or closed.
  std::vector<std::string> list(std::string_view folder) const;
  // The path with every link on it resolved inside the prefix, as a board path; what does not exist
  // is kept as it is written. The path itself where its links go round in a circle.
  std::string resolve(std::string_view path) const;

  std::string read(std::string_view path) const;                     // trimmed; throws FileError
  std::optional<std::string> try_read(std::string_view path) const;  // nullopt on any failure
  void write(std::string_view path, std::string_view text);          // throws FileError
  DeviceFile open(std::string_view path, Access access = Access::read);  // throws FileError
  std::optional<DeviceFile> try_open(std::string_view path);  // to read; nullopt on any failure

  // How many write(2) calls this object and its files have begun. A test that sets stop_at_write(n)
  // has the process raise SIGKILL on itself immediately before write n (1 is the first), or SIGSTOP
  // for a write that does not return.
  std::uint64_t writes() const { return writes_; }
  void stop_at_write(std::uint64_t n, int signal = SIGKILL) {
    stop_at_write_ = n;
    stop_signal_ = signal;
  }

 private:
  friend class DeviceFile;
  void count_write();
  // The board path without links; nullopt where they go round in a circle.
  std::optional<std::string> follow_links(std::string_view path) const;
  // The path for people: prefix and path, links not followed.
  std::string shown(std::string_view path) const;
  int open_descriptor(std::string_view path, int flags) const;  // -1 with errno

  std::filesystem::path prefix_;
  std::string prefix_text_;  // empty for "/"
  std::uint64_t writes_ = 0;
  std::uint64_t stop_at_write_ = 0;
  int stop_signal_ = SIGKILL;
};

}  // namespace gearshift
