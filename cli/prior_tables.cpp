#include "cli/prior_tables.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "boards/model_fit.h"
#include "policies/numerics/cost_prior.h"

namespace gearshift {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Its letters, in lower case, and digits.
std::string bare(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (is_letter(c)) text += static_cast<char>(c | 0x20);
    if (is_digit(c)) text += c;
  }
  return text;
}

// True where one letter more makes `longer` of `shorter`.
bool is_letter_more(const std::string& shorter, const std::string& longer) {
  if (longer.size() != shorter.size() + 1) return false;
  const auto differs = std::mismatch(shorter.begin(), shorter.end(), longer.begin());
  return is_letter(*differs.second) && std::equal(differs.first, shorter.end(), differs.second + 1);
}

// True where one letter is another, or two neighbours have changed places.
bool is_letter_other(const std::string& one, const std::string& other) {
  if (one.size() != other.size()) return false;
  auto differs = std::mismatch(one.begin(), one.end(), other.begin());
  if (differs.first == one.end()) return false;
  if (differs.first + 1 != one.end() && differs.first[0] == differs.second[1] &&
      differs.first[1] == differs.second[0]) {
    return std::equal(differs.first + 2, one.end(), differs.second + 2);
  }
  return is_letter(*differs.first) && is_letter(*differs.second) &&
         std::equal(differs.first + 1, one.end(), differs.second + 1);
}

bool is_misspelt(std::string_view name, std::string_view meant) {
  if (name == meant) return false;
  const std::string one = bare(name);
  const std::string other = bare(meant);
  if (one == other) return true;
  constexpr std::size_t kLeastLetters = 4;  // shorter names are like each other by chance
  return std::min(one.size(), other.size()) >= kLeastLetters &&
         (is_letter_other(one, other) || is_letter_more(one, other) || is_letter_more(other, one));
}

// What is judged may be the same in many of an evaluation's problems.
void add_once(std::string line, std::vector<std::string>& lines) {
  if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
}

bool same_workload(const Profile& table, const Profile& one) {
  return table.device == one.device && table.workload == one.workload && table.kind == one.kind;
}

}  // namespace

std::vector<std::unique_ptr<Profile>> read_prior_tables(const std::vector<std::string>& files,
                                                        ProfileFiles& read) {
  std::vector<std::unique_ptr<Profile>> tables;
  for (const std::string& file : files) {
    for (const Profile& table : read.of(file)) tables.push_back(std::make_unique<Profile>(table));
  }
  return tables;
}

std::vector<std::unique_ptr<Profile>> read_prior_tables(const std::vector<std::string>& files) {
  ProfileFiles read;
  return read_prior_tables(files, read);
}

std::vector<std::string> useless_priors(const std::vector<std::string>& files, ProfileFiles& read,
                                        const std::string& device, const BoardModel* board,
                                        std::span<const Kind> kinds) {
  const auto suits = [&](const Profile& table) {
    if (!kinds.empty() && std::find(kinds.begin(), kinds.end(), table.kind) == kinds.end()) {
      return false;
    }
    return board == nullptr || board->is_called(table.device) ||
           built_in_board_model(table.device).has_value();
  };
  std::string wanted;
  for (const Kind kind : kinds) {
    wanted += fmt::format("{}{}", wanted.empty() ? "" : " or ", kind_name(kind));
  }
  std::vector<std::string> lines;
  for (const std::string& file : files) {
    const std::vector<Profile>& tables = read.of(file);
    bool teaches = false;
    std::string small;
    for (const Profile& table : tables) {
      if (!suits(table)) continue;
      const std::size_t count = prior_cell_count(table, board);
      teaches = teaches || count >= kLeastFitCells;
      small +=
          fmt::format("{}{} has {} setting{} that count{}", small.empty() ? "" : ", ",
                      names_of({&table, 1}), count, count == 1 ? "" : "s", count == 1 ? "s" : "");
    }
    if (teaches) continue;
    if (!small.empty()) {
      lines.push_back(
          fmt::format("--prior {}: {}, and bayes and thompson need {}; what counts has "
                      "the time of a minibatch, and no power limit held it down",
                      file, small, kLeastFitCells));
      continue;
    }
    lines.push_back(fmt::format("--prior {}: no table of {}{}{}; it has {}", file,
                                wanted.empty() ? "" : wanted + " on ", device,
                                board == nullptr ? "" : ", or of another board that has a model",
                                names_of(tables)));
  }
  return lines;
}

std::vector<std::string> misspelt_priors(const std::vector<std::string>& files, ProfileFiles& read,
                                         std::span<const Searched> searched) {
  std::vector<std::string> lines;
  for (const std::string& file : files) {
    const std::vector<Profile>& tables = read.of(file);
    for (const Searched& meant : searched) {
      const auto is_of = [&](const Profile& table) {
        return table.kind == meant.kind && table.workload == meant.name;
      };
      if (std::any_of(tables.begin(), tables.end(), is_of)) continue;
      for (const Profile& table : tables) {
        if (table.kind != meant.kind || !is_misspelt(table.workload, meant.name)) continue;
        add_once(fmt::format(
                     "--prior {}: {} is taken for another workload than {}; where it is the same, "
                     "give it that name in the file",
                     file, names_of({&table, 1}), meant.name),
                 lines);
      }
    }
  }
  return lines;
}

std::vector<const Profile*> borrowed(const std::vector<std::unique_ptr<Profile>>& tables) {
  std::vector<const Profile*> view;
  for (const auto& table : tables) view.push_back(table.get());
  return view;
}

std::vector<const Profile*> EvaluationPriors::of(
    std::initializer_list<const Profile*> judged) const {
  std::vector<const Profile*> chosen;
  const auto same = [&](const Profile& table) {
    return std::any_of(judged.begin(), judged.end(),
                       [&](const Profile* one) { return same_workload(table, *one); });
  };
  for (const auto& table : prior_) {
    if (!same(*table)) chosen.push_back(table.get());
  }
  for (const auto& table : own_) {
    if (same(*table)) chosen.push_back(table.get());
  }
  return chosen;
}

std::vector<std::string> EvaluationPriors::warnings(std::span<const Profile* const> judged) {
  std::vector<std::string> lines;
  std::vector<Searched> searched;
  std::vector<std::string> names;
  for (const Profile* one : judged) {
    searched.push_back({one->workload, one->kind});
    add_once(names_of({one, 1}), names);
  }
  for (const std::string& file : own_files_) {
    const std::vector<Profile>& tables = read_.of(file);
    const auto is_judged = [&](const Profile& table) {
      return std::any_of(judged.begin(), judged.end(),
                         [&](const Profile* one) { return same_workload(table, *one); });
    };
    if (std::any_of(tables.begin(), tables.end(), is_judged)) continue;
    add_once(
        fmt::format("--own-prior {}: no table of what is judged, so no policy sees it; it has {}, "
                    "and judged is {}",
                    file, names_of(tables), fmt::join(names, ", ")),
        lines);
  }
  for (std::string& line : misspelt_priors(prior_files_, read_, searched)) {
    add_once(std::move(line), lines);
  }
  return lines;
}

std::vector<const Profile*> EvaluationPriors::all() const {
  std::vector<const Profile*> tables = borrowed(prior_);
  for (const auto& table : own_) tables.push_back(table.get());
  return tables;
}

}  // namespace gearshift
