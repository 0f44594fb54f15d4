#include "cli/output_files.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "boards/board_description.h"
#include "cli/written_output.h"
#include "trace/replace_file.h"

namespace gearshift {
namespace {

bool is_no_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

// Files that are not there yet are one by their names.
bool same_file(const std::string& one, const std::string& other) {
  if (is_standard_output(one) && is_standard_output(other)) return true;
  if (is_no_file(one) || is_no_file(other)) return false;
  std::error_code error;
  if (std::filesystem::equivalent(one, other, error)) return true;
  const auto whole = [&](const std::string& path) {
    const std::filesystem::path file = std::filesystem::absolute(behind_links(path), error);
    return std::filesystem::weakly_canonical(file, error);
  };
  const std::filesystem::path name = whole(one);
  return !name.empty() && name == whole(other);
}

}  // namespace

std::vector<std::string> recording_files(const std::filesystem::path& path) {
  const std::string file = path.string();
  return {file, file + "-wal", file + "-shm", file + "-journal"};
}

void CommandFiles::reads(const std::string& flag, const std::string& path) {
  if (!path.empty()) read_.push_back({flag, path});
}

void CommandFiles::reads(const std::string& flag, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) reads(flag, path);
}

void CommandFiles::reads_board(const std::string& flag, const std::string& board) {
  const bool built_in = find_board(board, built_in_boards()) != nullptr;
  if (board != "auto" && !built_in) reads(flag, board);
}

void CommandFiles::reads_named(const std::string& flag, const std::string& text,
                               const std::string& word, char end) {
  if (!text.starts_with(word)) return;
  reads(flag, text.substr(word.size(), text.find(end, word.size()) - word.size()));
}

void CommandFiles::reads_recording(const std::string& flag, const std::string& path) {
  if (!path.empty()) reads(flag, recording_files(behind_links(path)));
}

void CommandFiles::writes(const std::string& flag, const std::string& path) {
  if (!path.empty()) written_.push_back({flag, path});
}

void CommandFiles::writes_no_stream(const std::string& flag, const std::string& path) {
  if (path == "-") no_streams_.push_back({flag, path});
  writes(flag, path);
}

void CommandFiles::writes_recording(const std::string& flag, const std::string& path) {
  if (path.empty()) return;
  writes_no_stream(flag, path);
  const std::vector<std::string> files = recording_files(behind_links(path));
  for (std::size_t i = 1; i < files.size(); ++i) writes(flag, files[i]);
}

void CommandFiles::check() const {
  if (!no_streams_.empty()) {
    throw std::invalid_argument(
        fmt::format("{} -: cannot be standard output; name a file, one of that name as ./-",
                    no_streams_.front().flag));
  }
  for (const Named& written : written_) {
    for (const Named& read : read_) {
      if (written.path == "-" || !same_file(written.path, read.path)) continue;
      throw std::invalid_argument(
          fmt::format("{} {}: is the file that is read, {} {}, and would be lost; give another "
                      "name",
                      written.flag, written.path, read.flag, read.path));
    }
    for (const Named& other : written_) {
      if (&other == &written) break;
      if (!same_file(written.path, other.path)) continue;
      throw std::invalid_argument(
          fmt::format("{} {}: is the file that is written too, {} {}, and one of the two would be "
                      "lost; give another name",
                      written.flag, written.path, other.flag, other.path));
    }
  }
}

}  // namespace gearshift
