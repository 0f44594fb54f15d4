// The policy script on disk: its text, and whether it has changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "bridge/file_watch.h"

namespace gearshift {

inline constexpr std::size_t kMaxScriptBytes = 256 * 1024;

class ScriptFile {
 public:
  // An empty path: no script, no text, nothing to watch. Throws std::runtime_error naming the file
  // and the way out where it cannot be read or is larger than kMaxScriptBytes.
  explicit ScriptFile(std::filesystem::path path);

  // Readable when something in the folder has changed; -1 where nothing is watched.
  int descriptor() const { return watch_.descriptor(); }
  // Looks at the file where it has changed. True where the script's text is another one now.
  bool take_changes();
  // Reads the file again. True where its text is another one now; a file that is gone or empty for
  // the moment keeps the old text, and so does one that root reads and that is another user's than
  // the first, or is kept from others where that was not. One that is too large becomes a script
  // that fails with that message, so that it is reported where scripts are.
  bool reload();
  std::string_view text() const { return text_; }
  // That an edit will not be seen or was not taken, and the way out; once. Empty: nothing new.
  std::string take_complaint();

 private:
  // Of a file that was read: which root may read again, though its author chooses what is there.
  struct Kind {
    std::uint32_t owner = 0;
    bool open_to_all = false;
  };
  struct Read {
    std::string text;
    Kind kind;
  };

  static std::optional<Read> read_bounded(const std::filesystem::path& path);
  void complain_unwatched();
  bool admits(const Kind& kind);

  std::filesystem::path path_;
  Kind first_;
  bool refused_ = false;  // what is there now, which was told
  FileWatch watch_;       // made before the text is read, so that no change falls between them
  std::string text_;
  std::string complaint_;
};

}  // namespace gearshift
