#include "cli/simulated_costs.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

#include "cli/select_workload.h"

namespace gearshift {

namespace {

// Whether a device is known to be another board than the one that is asked for. By a name that no
// board has it may be that one.
bool is_another_board(const std::string& device, const std::string& asked_for) {
  const bool known = find_board(device, built_in_boards()) != nullptr &&
                     find_board(asked_for, built_in_boards()) != nullptr;
  return known && !is_same_board(device, asked_for);
}

}  // namespace

std::unique_ptr<Profile> select_profile(ProfileFiles& files, const std::string& profile,
                                        const std::string& trace, const WantedProfile& wanted) {
  const std::string& file = trace.empty() ? profile : trace;
  const std::vector<Profile>& profiles = trace.empty() ? files.of(file) : files.of_trace(file);
  std::vector<const Profile*> fitting;
  for (const Profile& one : profiles) {
    const bool named = wanted.workload.empty() || one.workload == wanted.workload;
    if (one.kind == wanted.kind && named) fitting.push_back(&one);
  }
  const auto of_device = [&](const Profile* one) {
    const auto& names = wanted.devices;
    return std::find(names.begin(), names.end(), one->device) != names.end();
  };
  const auto of_another = [&](const Profile* one) {
    return !wanted.devices.empty() && is_another_board(one->device, wanted.devices.back());
  };
  const std::string who = std::string(kind_name(wanted.kind)) +
                          (wanted.workload.empty() ? "" : " of the name " + wanted.workload);
  if (std::any_of(fitting.begin(), fitting.end(), of_device)) {
    std::erase_if(fitting, std::not_fn(of_device));
  } else if (!fitting.empty() && std::all_of(fitting.begin(), fitting.end(), of_another)) {
    throw std::invalid_argument(fmt::format(
        "{}: nothing fits for {} on {}; give tables and a --board of one device, or leave --board "
        "out; it has {}",
        file, who, wanted.devices.back(), names_of(profiles)));
  }
  if (fitting.size() == 1) return std::make_unique<Profile>(*fitting.front());
  throw std::invalid_argument(fmt::format(
      "{}: {} for {}; choose with --workload (--infer-workload beside training) and "
      "--problem, of several devices with --board, or split the file by device; it has {}",
      file, fitting.empty() ? "nothing fits" : "several fit", who, names_of(profiles)));
}

std::unique_ptr<CostSource> filling_costs(const BoardDescription& board, const Profile& profile,
                                          const std::string& model) {
  const std::string& name = model.empty() ? profile.workload : model;
  return std::make_unique<ModelCosts>(
      board, profile.knobs(), require_workload(board, name, profile.kind, "--model").second);
}

std::int32_t usual_train_batch(const std::vector<std::int32_t>& batch_sizes) {
  constexpr std::int32_t kUsual = 16;
  const bool usual = std::binary_search(batch_sizes.begin(), batch_sizes.end(), kUsual);
  return usual ? kUsual : batch_sizes.front();
}

KnobSpace common_knobs(const Profile& train, const Profile& infer) {
  KnobSpace common = infer.knobs();
  const auto fail = [&](const std::string& what) {
    throw std::runtime_error(
        fmt::format("{} and {} cannot run on one board: {}", train.workload, infer.workload, what));
  };
  if (train.device != infer.device) fail(train.device + " and " + infer.device);
  if (common.size() != train.knobs().size()) fail("their knobs differ");
  for (std::size_t i = 0; i < common.size(); ++i) {
    const Knob& other = train.knobs().knobs[i];
    Knob& knob = common.knobs[i];
    if (knob.name != other.name) fail("their knobs differ");
    std::erase_if(knob.values, [&](std::int64_t value) {
      return !std::binary_search(other.values.begin(), other.values.end(), value);
    });
    if (knob.values.empty()) fail("they have no value of " + knob.name + " in common");
  }
  return common;
}

}  // namespace gearshift
