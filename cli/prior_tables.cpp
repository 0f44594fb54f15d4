#include "cli/prior_tables.h"

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

}  // namespace gearshift
