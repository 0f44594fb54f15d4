#include "cli/prior_tables.h"

#include <algorithm>
#include <utility>

#include "trace/profile_csv.h"

namespace gearshift {

std::vector<std::unique_ptr<Profile>> read_prior_tables(const std::vector<std::string>& files) {
  std::vector<std::unique_ptr<Profile>> tables;
  for (const std::string& file : files) {
    for (Profile& table : read_profiles(file)) {
      tables.push_back(std::make_unique<Profile>(std::move(table)));
    }
  }
  return tables;
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
