// The files that a command reads and those that it writes: none is lost to another.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gearshift {

// Collects them with the flags, or the words for them in the help, that named them; then checks
// all before the first is opened. An empty path is no file.
class CommandFiles {
 public:
  void reads(const std::string& flag, const std::string& path);
  void reads(const std::string& flag, const std::vector<std::string>& paths);
  // A board may be the id of a built-in one instead.
  void reads_board(const std::string& flag, const std::string& board);
  // The file that a text like "trace:FILE,60" or "workload:FILE@5s" names behind `word`, up to the
  // first `end`; none where it names something else.
  void reads_named(const std::string& flag, const std::string& text, const std::string& word,
                   char end);
  // With what SQLite has beside it.
  void reads_recording(const std::string& flag, const std::string& path);
  // "-" is standard output, for one of them.
  void writes(const std::string& flag, const std::string& path);
  // What is read again, or is no text: "-" would be a file of that name.
  void writes_no_stream(const std::string& flag, const std::string& path);
  void writes_recording(const std::string& flag, const std::string& path);

  // Throws std::invalid_argument that names both flags where a file that is written is one that is
  // read, or another that is written, by whatever name, or that names "-" where that cannot be.
  // What is no file (a terminal, /dev/null) holds nothing that could be lost.
  void check() const;

 private:
  struct Named {
    std::string flag;
    std::string path;
  };

  std::vector<Named> read_;
  std::vector<Named> written_;
  std::vector<Named> no_streams_;
};

// A recording's files: the database, whose `path` no link is, and what SQLite keeps beside it
// meanwhile, which a run that was killed leaves there.
std::vector<std::string> recording_files(const std::filesystem::path& path);

}  // namespace gearshift
