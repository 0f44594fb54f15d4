// The measured tables that a policy may read, from the files named by --prior and --own-prior.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "controller/profile.h"

namespace gearshift {

// File after file; none is null. Throws what read_profiles throws.
std::vector<std::unique_ptr<Profile>> read_prior_tables(const std::vector<std::string>& files);

// The same tables as the loop takes them.
std::vector<const Profile*> borrowed(const std::vector<std::unique_ptr<Profile>>& tables);

// Those of an evaluation, in which a policy sees of `prior` what is not of the workloads that it is
// judged on, and of `own` what is.
class EvaluationPriors {
 public:
  EvaluationPriors(const std::vector<std::string>& prior, const std::vector<std::string>& own)
      : prior_(read_prior_tables(prior)), own_(read_prior_tables(own)) {}
  // Borrowed from here.
  std::vector<const Profile*> of(std::initializer_list<const Profile*> judged) const;
  // Every table: `prior` first.
  std::vector<const Profile*> all() const;

 private:
  std::vector<std::unique_ptr<Profile>> prior_, own_;
};

}  // namespace gearshift
