// The measured tables that a policy may read, from the files named by --prior and --own-prior.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "boards/board_model.h"
#include "cli/profile_files.h"
#include "controller/profile.h"

namespace gearshift {

// File after file; none is null. Throws what ProfileFiles::of throws.
std::vector<std::unique_ptr<Profile>> read_prior_tables(const std::vector<std::string>& files,
                                                        ProfileFiles& read);
std::vector<std::unique_ptr<Profile>> read_prior_tables(const std::vector<std::string>& files);

// A line for each file that has no table a search on the board can learn from: of one of `kinds`
// (none: of any), measured on the board, or on another one whose model is known, and with
// kLeastFitCells settings by prior_cell_count. A board without a model (null) learns from every
// device. `device` names the board in the lines.
std::vector<std::string> useless_priors(const std::vector<std::string>& files, ProfileFiles& read,
                                        const std::string& device, const BoardModel* board,
                                        std::span<const Kind> kinds);

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
