#include "cli/prior_tables.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstddef>

#include "boards/model_fit.h"
#include "policies/numerics/cost_prior.h"

namespace gearshift {

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

std::vector<const Profile*> borrowed(const std::vector<std::unique_ptr<Profile>>& tables) {
  std::vector<const Profile*> view;
  for (const auto& table : tables) view.push_back(table.get());
  return view;
}

std::vector<const Profile*> EvaluationPriors::of(
    std::initializer_list<const Profile*> judged) const {
  std::vector<const Profile*> chosen;
  const auto same = [&](const Profile& table) {
    return std::any_of(judged.begin(), judged.end(), [&](const Profile* one) {
      return table.device == one->device && table.workload == one->workload &&
             table.kind == one->kind;
    });
  };
  for (const auto& table : prior_) {
    if (!same(*table)) chosen.push_back(table.get());
  }
  for (const auto& table : own_) {
    if (same(*table)) chosen.push_back(table.get());
  }
  return chosen;
}

std::vector<const Profile*> EvaluationPriors::all() const {
  std::vector<const Profile*> tables = borrowed(prior_);
  for (const auto& table : own_) tables.push_back(table.get());
  return tables;
}

}  // namespace gearshift
