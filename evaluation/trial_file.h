// An append-only file of trials by case key, so that an evaluation goes on where it was stopped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "evaluation/trial.h"

namespace gearshift {

// One line of JSON a trial: {"key": "16 hex digits", "mode": [...], "batch": [train, infer], ...}.
std::string format_trial(std::uint64_t key, const Trial& trial);
// nullopt for a line that is no trial, such as one that a kill has cut off.
std::optional<std::pair<std::uint64_t, Trial>> parse_trial(std::string_view line);

// Holds the file open for writing, and keeps others from doing so: two evaluations would mix lines.
class TrialFile {
 public:
  // Reads what is there and goes on behind it; an unreadable line is skipped and counted. Throws
  // std::runtime_error that names the file where it cannot be opened, is in use or is no such file.
  explicit TrialFile(const std::string& path);
  ~TrialFile();
  TrialFile(const TrialFile&) = delete;
  TrialFile& operator=(const TrialFile&) = delete;

  // Null where the case has no trial yet. The newest of a key counts.
  const Trial* find(std::uint64_t key) const;
  std::size_t unreadable() const { return unreadable_; }
  // In the file when it returns; a kill afterwards loses nothing. Throws std::runtime_error.
  void append(std::string_view lines);

 private:
  void read();

  std::string path_;
  int descriptor_ = -1;
  std::map<std::uint64_t, Trial> trials_;
  std::size_t unreadable_ = 0;
};

}  // namespace gearshift
