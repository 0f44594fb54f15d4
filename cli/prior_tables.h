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

// A workload that a search is for.
struct Searched {
  std::string name;
  Kind kind = Kind::train;
};

// A line for each table of a workload whose name is nearly that of a searched one of its kind, in a
// file without a table of that one: what is measured of a workload is known by its name alone.
// Nearly: but for case and for what is no letter or digit, or but for one letter or two in another
// order; other digits are another version. No line comes twice.
std::vector<std::string> misspelt_priors(const std::vector<std::string>& files, ProfileFiles& read,
                                         std::span<const Searched> searched);

// The same tables as the loop takes them.
std::vector<const Profile*> borrowed(const std::vector<std::unique_ptr<Profile>>& tables);

// Those of an evaluation, in which a policy sees of `prior` what is not of the workloads that it is
// judged on, and of `own` what is.
class EvaluationPriors {
 public:
  EvaluationPriors(const std::vector<std::string>& prior, const std::vector<std::string>& own)
      : prior_files_(prior),
        own_files_(own),
        prior_(read_prior_tables(prior, read_)),
        own_(read_prior_tables(own, read_)) {}
  // Borrowed from here.
  std::vector<const Profile*> of(std::initializer_list<const Profile*> judged) const;
  // A line for each file of `own` without a table of what is judged, and misspelt_priors(). What is
  // judged may be told several times.
  std::vector<std::string> warnings(std::span<const Profile* const> judged);
  // Every table: `prior` first.
  std::vector<const Profile*> all() const;

 private:
  ProfileFiles read_;
  std::vector<std::string> prior_files_, own_files_;
  std::vector<std::unique_ptr<Profile>> prior_, own_;
};

}  // namespace gearshift
