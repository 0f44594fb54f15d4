// Tells the operator of `gearshift profile` how far it has come, and keeps what was measured.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/outlet.h"
#include "controller/profile.h"
#include "controller/recorder.h"
#include "policies/sweep_policy.h"
#include "trace/unmanaged_workloads.h"

namespace gearshift {

struct ProfileProgressOptions {
  std::filesystem::path file;
  std::string device;
  bool json = false;
};

// Every complete measurement is in the file before the next one begins: a run that is stopped or
// killed is resumed from there. Writing it blocks the loop for a moment, while power settles after
// the change that begins the next measurement.
class ProfileProgress : public Recorder {
 public:
  // Borrows the policy, the knobs and `out`, where it is told; `known` is what the file holds
  // already, with its knobs in the order of `knobs` (see in_order_of).
  ProfileProgress(const SweepPolicy& policy, const KnobSpace& knobs, std::vector<Profile> known,
                  ProfileProgressOptions options, Outlet& out);

  void tick(const TickInputs&) override {}
  // Throws std::runtime_error before the first measurement where the file cannot hold what the
  // workload will be measured to cost: its name cannot be written, or its rows are of other knobs.
  void note(const Note& note) override;
  void status(const Status&) override {}

  std::size_t measured() const { return measured_; }
  // Of those measured, settings whose power is an estimate, wholly or in part.
  std::size_t estimated() const { return estimated_; }
  // Settings that were not measured, and why; in the order they were tried.
  const std::vector<std::pair<Setting, std::string>>& left_out() const { return left_out_; }

 private:
  Profile* known();
  Profile nothing_yet(KnobSpace knobs) const;
  void check_fits();
  void on_observation(const Note& note);
  void add(const Observation& observation);
  void tell(const Note& note) const;
  void tell(const Observation& observation, std::string_view left_out);

  const SweepPolicy& policy_;
  const KnobSpace& knobs_;
  std::vector<Profile> profiles_;
  ProfileProgressOptions options_;
  Outlet& out_;
  bool fits_ = false;  // has been checked
  UnmanagedWorkloads unmanaged_;
  std::size_t measured_ = 0;
  std::size_t estimated_ = 0;
  std::vector<std::pair<Setting, std::string>> left_out_;
  std::string why_;  // the last thing a knob or workload said
  Duration spent_{};
};

}  // namespace gearshift
