// Reads a recording tick by tick, and believes nothing in it before it has been looked at.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/recording.h"

namespace gearshift {

// Holds one tick in memory at a time. Everything that is wrong with a file is a RecordingError
// which names the file, the table and the value.
class RecordingReader {
 public:
  explicit RecordingReader(const std::filesystem::path& file);
  // The same from the bytes of a file.
  RecordingReader(std::span<const std::byte> bytes, std::string name);
  ~RecordingReader();
  RecordingReader(RecordingReader&&) noexcept;

  const RecordingHeader& header() const;
  // Which one the file has (trace/FORMAT.md).
  std::int64_t format() const;
  // How it ended: "complete", or why the recording ended before the run. Nullopt where its process
  // was killed, or is still writing.
  const std::optional<std::string>& end() const;

  // Reads the next tick. False after the last one.
  bool next(RecordedTick& tick);

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace gearshift
