// The policy script on disk: its text, and whether it has changed.
#pragma once

#include <cstddef>
#include <filesystem>
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
  // the moment keeps the old text. One that is too large becomes a script that fails with that
  // message, so that it is reported where scripts are.
  bool reload();
  std::string_view text() const { return text_; }
  // That an edit will not be seen, and the way out; once. Empty: nothing new.
  std::string take_complaint();

 private:
  void complain_unwatched();

  std::filesystem::path path_;
  FileWatch watch_;  // made before the text is read, so that no change falls between them
  std::string text_;
  std::string complaint_;
};

}  // namespace gearshift
