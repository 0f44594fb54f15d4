// Measures a list of settings one after the other: how a profile of a workload is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/policy.h"
#include "controller/profile.h"

namespace gearshift {

// Which way the clocks go. Some boards take a higher clock only after a reboot.
enum class SweepOrder : std::uint8_t { descend, ascend };

// Every mode of the space. The clocks are the outer loops, the one with the fewest values
// outermost, so that a clock that has to go back does so as seldom as can be; the other knobs run
// to and fro inside, so that each step moves one of them.
std::vector<PowerMode> sweep_modes(const KnobSpace& space, SweepOrder order);

// Measures the workload that it first met, of the kind that was attached then, training where both
// were. Goes on where it was when that one leaves and comes back; whoever runs in its place is not
// measured, and take_log() says so once.
class SweepPolicy : public Policy {
 public:
  // `batch_sizes` in samples; none: the one in use. A setting that a profile of `known` has for the
  // device and the workload is not measured again.
  SweepPolicy(std::string device, std::vector<PowerMode> modes,
              std::vector<std::int32_t> batch_sizes, std::vector<Profile> known);

  Request start(const PolicyContext& context) override;
  Request resume(const Observation& answer) override;
  // There is no script: starts again.
  Request replace(std::string_view text, const PolicyContext& context) override;
  std::string_view failure() const override { return {}; }
  std::string take_log() override;

  // True once every setting has been measured or has failed.
  bool done() const { return started_ && next_ == settings_.size(); }
  std::size_t asked() const { return next_; }
  std::size_t total() const { return settings_.size(); }  // 0 before the first start
  std::size_t skipped() const { return skipped_; }        // that were known
  // Batch sizes that were given and the workload does not offer: none of their settings is asked
  // for. And those that it does. Empty before the first start.
  const std::vector<std::int32_t>& not_offered() const { return not_offered_; }
  const std::vector<std::int32_t>& offered() const { return offered_; }
  const std::string& workload() const { return workload_; }
  Kind kind() const { return kind_; }

 private:
  void list_settings(const Workload& workload);
  const Profile* known() const;
  Request ask() const;
  Request wait(const PolicyContext& context);

  std::string device_;
  std::vector<PowerMode> modes_;
  std::vector<std::int32_t> batch_sizes_;
  std::vector<std::int32_t> offered_;
  std::vector<std::int32_t> not_offered_;
  std::vector<Profile> known_;
  bool started_ = false;
  std::string workload_;
  Kind kind_ = Kind::train;
  std::vector<Setting> settings_;
  std::size_t next_ = 0;
  std::size_t skipped_ = 0;
  std::string in_its_place_;  // who was told of
  std::string log_;
};

}  // namespace gearshift
