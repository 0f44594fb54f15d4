// A file whose name may be taken away while somebody writes it.
#pragma once

#include <cstdint>
#include <filesystem>

namespace gearshift {

// Holds the file without opening it: a program that closes a second descriptor of a file loses the
// locks that SQLite has on it.
class HeldFile {
 public:
  // One that is not there counts as removed.
  explicit HeldFile(const std::filesystem::path& file);
  ~HeldFile();
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;

  // True once no name leads to it any more. One that was moved has a name.
  bool removed() const;
  // True where it has fewer bytes than at any look before, of which the first is the constructor's.
  // One that was not there never has.
  bool cut_off();
  // That it had at a look, the most.
  std::int64_t most_bytes() const { return most_bytes_; }

 private:
  int descriptor_;
  std::int64_t most_bytes_ = 0;  // that it had at a look
};

}  // namespace gearshift
