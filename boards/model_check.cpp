#include "boards/model_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "boards/target_label.h"

namespace gearshift {
namespace {

constexpr double kMhzInGhz = 1000;
constexpr double kMsInSecond = 1000;

// Why a target cannot be predicted; leaves judge() as its reason.
struct Inexpressible : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a label may name that the model leaves out.
struct LeftOut {
  std::string_view word;
  std::string_view reason;
};
constexpr std::array<LeftOut, 4> kLeftOut = {{
    {"DVFS on", "a frequency governor moves the clocks, and the model has none"},
    {"SSD", "it depends on a disk, of which the model has no parameters"},
    {"SD card", "it depends on a disk, of which the model has no parameters"},
    {"HDD", "it depends on a disk, of which the model has no parameters"},
}};

// Quantities of one minibatch, so that all are ratios of sums of them.
enum class Quantity { time, compute, stall, power, energy };

double value_of(Quantity quantity, const MinibatchCost& cost) {
  switch (quantity) {
    case Quantity::time:
      return cost.minibatch_ms;
    case Quantity::compute:
      return cost.gpu_ms;
    case Quantity::stall:  // as it was measured: all that is not GPU compute
      return cost.minibatch_ms - cost.gpu_ms;
    case Quantity::power:
      return cost.power_w;
    case Quantity::energy:
      return cost.power_w * cost.minibatch_ms / kMsInSecond;
  }
  return 0;
}

class Prediction {
 public:
  Prediction(const ModelTarget& target, std::span<const BoardDescription> boards,
             std::span<const Profile> profiles)
      : target_(target), profiles_(profiles), board_(find_board(target.device, boards)) {
    for (const LeftOut& left_out : kLeftOut) {
      if (target.label.find(left_out.word) != std::string::npos) {
        throw Inexpressible(std::string(left_out.reason));
      }
    }
    if (board_ == nullptr || !board_->model) {
      throw Inexpressible("no board with a model is called '" + target.device + "'");
    }
    device_ = &board_->parameters(target.kind);
  }

  double value() {
    const std::string& metric = target_.metric;
    if (metric == "power_w" && target_.workload.empty()) return idle_w();
    // Before the workload is looked for: the reason is better.
    constexpr std::array<std::string_view, 12> kMetrics = {
        "minibatch_ms", "epoch_s", "compute_s",      "stall_s",      "energy_j", "power_w",
        "percent",      "ratio",   "latency_span_s", "power_span_w", "hours",    "gpu_mhz"};
    if (std::find(kMetrics.begin(), kMetrics.end(), metric) == kMetrics.end()) {
      throw Inexpressible("'" + metric + "' is no quantity of the model");
    }
    if (metric == "percent") check_utilization();
    find_workload();
    if (metric == "minibatch_ms") return at(mode()).minibatch_ms;
    if (metric == "epoch_s") return an_epoch(Quantity::time, at(mode())) / kMsInSecond;
    if (metric == "compute_s") return an_epoch(Quantity::compute, at(mode())) / kMsInSecond;
    if (metric == "stall_s") return an_epoch(Quantity::stall, at(mode())) / kMsInSecond;
    if (metric == "energy_j") return an_epoch(Quantity::energy, at(mode()));
    if (metric == "power_w") return at(mode()).power_w;
    if (metric == "percent") return 100 * at(mode()).gpu_utilization;
    if (metric == "latency_span_s") return an_epoch_span() / kMsInSecond;
    if (metric == "power_span_w") return power_span();
    if (metric == "hours") return profiling_hours();
    if (metric == "gpu_mhz") return gpu_mhz_of_least_energy();
    return ratio();
  }

 private:
  void find_workload();
  MinibatchCost at(const ModelMode& mode, std::optional<double> batch_size = {},
                   std::optional<double> workers = {}) const;
  double an_epoch(Quantity quantity, const MinibatchCost& cost) const;
  ModelMode mode() const;
  ModelMode named_mode(const std::string& name) const;
  ModelMode highest() const {
    const KnobSpace space = board_->knob_space();
    return model_mode(space, space.highest(), {});
  }
  std::vector<ModelMode> sweep() const;
  std::vector<ModelMode> grid(const ModeGrid& wanted) const;
  Quantity quantity(const std::string& told) const;

  double idle_w() const;
  void check_utilization() const;
  double an_epoch_span() const;
  double power_span() const;
  double profiling_hours() const;
  double gpu_mhz_of_least_energy() const;
  double ratio() const;
  double side(const ComparisonSide& side, Quantity quantity) const;

  const ModelTarget& target_;
  std::span<const Profile> profiles_;
  const BoardDescription* board_ = nullptr;
  const DeviceParameters* device_ = nullptr;
  const WorkloadParameters* workload_ = nullptr;
};

void Prediction::find_workload() {
  const auto found = board_->find_workload(target_.workload, target_.kind);
  if (found == board_->workloads.end()) {
    throw Inexpressible(target_.workload.empty()
                            ? "no workload is named"
                            : "no parameters of '" + target_.workload + "' on " + board_->id);
  }
  workload_ = &found->second;
}

MinibatchCost Prediction::at(const ModelMode& mode, std::optional<double> batch_size,
                             std::optional<double> workers) const {
  Demand demand = workload_->demand(batch_size.value_or(target_.batch_size));
  if (!workers) workers = target_.workers;
  if (workers) demand.workers = *workers;
  return minibatch_cost(*device_, demand, mode);
}

double Prediction::an_epoch(Quantity quantity, const MinibatchCost& cost) const {
  if (workload_->samples_per_epoch == 0) throw Inexpressible("the size of an epoch is not told");
  return value_of(quantity, cost) * workload_->samples_per_epoch / target_.batch_size;
}

ModelMode Prediction::mode() const {
  if (!target_.cpu_cores || !target_.cpu_mhz || !target_.gpu_mhz || !target_.mem_mhz) {
    throw Inexpressible("no mode is given");
  }
  return {*target_.cpu_cores, *target_.cpu_mhz / kMhzInGhz, *target_.gpu_mhz / kMhzInGhz,
          *target_.mem_mhz / kMhzInGhz};
}

ModelMode Prediction::named_mode(const std::string& name) const {
  if (name == "MAXN") return highest();
  const auto found = board_->published_modes.find(name);
  if (found == board_->published_modes.end()) {
    throw Inexpressible("'" + name + "' is no published mode of " + board_->id);
  }
  return found->second;
}

double Prediction::idle_w() const {
  if (target_.label.find("idle") == std::string::npos) throw Inexpressible("no workload is named");
  return idle_power_w(*device_, mode());
}

// Tools that read CPU utilisation count waiting threads that spin as busy; the model does not.
void Prediction::check_utilization() const {
  if (target_.unit.starts_with("% GPU util")) return;
  throw Inexpressible("GPU utilisation is the one percentage that the model has");
}

// The target's mode with the swept clock at each of its values.
std::vector<ModelMode> Prediction::sweep() const {
  const KnobSpace space = board_->knob_space();
  const std::optional<std::size_t> knob = space.find(target_.sweep);
  if (!knob) throw Inexpressible("no sweep of a knob is given");
  std::vector<ModelMode> modes;
  for (const std::int64_t khz : space.knobs[*knob].values) {
    const double mhz = static_cast<double>(khz) / unit_scale(Unit::khz);
    ModelTarget one = target_;
    (target_.sweep == "gpu_mhz"   ? one.gpu_mhz
     : target_.sweep == "cpu_mhz" ? one.cpu_mhz
                                  : one.mem_mhz) = mhz;
    if (!one.cpu_cores || !one.cpu_mhz || !one.gpu_mhz || !one.mem_mhz) {
      throw Inexpressible("the sweep leaves other knobs open");
    }
    modes.push_back({*one.cpu_cores, *one.cpu_mhz / kMhzInGhz, *one.gpu_mhz / kMhzInGhz,
                     *one.mem_mhz / kMhzInGhz});
  }
  return modes;
}

double Prediction::an_epoch_span() const {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const ModelMode& one : sweep()) {
    const double time = an_epoch(Quantity::time, at(one));
    least = std::min(least, time);
    most = std::max(most, time);
  }
  return most - least;
}

double Prediction::power_span() const {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const ModelMode& one : sweep()) {
    const double power = at(one).power_w;
    least = std::min(least, power);
    most = std::max(most, power);
  }
  return most - least;
}

std::vector<ModelMode> Prediction::grid(const ModeGrid& wanted) const {
  for (const Profile& profile : profiles_) {
    if (profile.cells().size() != wanted.modes || profile.kind != target_.kind) continue;
    const KnobSpace space = board_->knob_space();
    const auto found = board_->find_workload(profile.workload, profile.kind);
    if (found == board_->workloads.end() || &found->second != workload_) continue;
    std::vector<ModelMode> modes;
    for (const ProfileCell& cell : profile.cells()) {
      modes.push_back(model_mode(profile.knobs(), cell.mode, highest()));
    }
    return modes;
  }
  throw Inexpressible("which " + std::to_string(wanted.modes) +
                      " modes is not told; give their profile");
}

double Prediction::profiling_hours() const {
  const std::optional<ModeGrid> wanted = parse_mode_grid(target_.label);
  if (!wanted) throw Inexpressible("the label tells no grid of modes");
  double sum_ms = 0;
  for (const ModelMode& one : grid(*wanted)) sum_ms += at(one).minibatch_ms;
  return sum_ms * wanted->minibatches / kMsInSecond / 3600;
}

// As published sweeps did it: all cores, the highest memory clock, every pair of the other two.
double Prediction::gpu_mhz_of_least_energy() const {
  const KnobSpace space = board_->knob_space();
  const std::optional<std::size_t> cpu = space.find("cpu_mhz");
  const std::optional<std::size_t> gpu = space.find("gpu_mhz");
  PowerMode mode = space.highest();
  double least = std::numeric_limits<double>::infinity();
  double best_mhz = 0;
  for (const std::int64_t cpu_khz : space.knobs[*cpu].values) {
    for (const std::int64_t gpu_khz : space.knobs[*gpu].values) {
      mode.values[*cpu] = cpu_khz;
      mode.values[*gpu] = gpu_khz;
      const double energy = value_of(Quantity::energy, at(model_mode(space, mode, {})));
      if (energy >= least) continue;
      least = energy;
      best_mhz = static_cast<double>(gpu_khz) / unit_scale(Unit::khz);
    }
  }
  return best_mhz;
}

// Told by the label, else by the target's id.
Quantity Prediction::quantity(const std::string& told) const {
  if (told == "GPU compute" || told == "compute per minibatch") return Quantity::compute;
  if (told == "stall") return Quantity::stall;
  const auto named = [&](std::string_view word) {
    return target_.id.find("_" + std::string(word) + "_") != std::string::npos;
  };
  if (named("time") || named("e2e")) return Quantity::time;
  if (named("power")) return Quantity::power;
  if (named("energy")) return Quantity::energy;
  throw Inexpressible("neither label nor id tells of what the ratio is");
}

double Prediction::side(const ComparisonSide& side, Quantity quantity) const {
  ModelMode where = side.mode.empty() ? mode() : named_mode(side.mode);
  if (side.gpu_mhz) where.gpu_ghz = *side.gpu_mhz / kMhzInGhz;
  return value_of(quantity, at(where, side.batch_size, side.workers));
}

double Prediction::ratio() const {
  if (target_.unit != "x" && !target_.unit.starts_with("x ")) {
    throw Inexpressible("'" + target_.unit + "' is no quantity of the model");
  }
  if (const std::optional<ModeGrid> wanted = parse_mode_grid(target_.label)) {
    const Quantity what = quantity("");
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    for (const ModelMode& one : grid(*wanted)) {
      const double value = value_of(what, at(one));
      least = std::min(least, value);
      most = std::max(most, value);
    }
    return most / least;
  }
  const std::optional<Comparison> comparison = parse_comparison(target_.label);
  if (!comparison) throw Inexpressible("the label compares nothing that the model has");
  const Quantity what = quantity(comparison->quantity);
  const double over = side(comparison->over, what);
  const double under = side(comparison->under, what);
  if (!(under > 0)) throw Inexpressible("the model has nothing to divide by: it predicts 0");
  return over / under;
}

}  // namespace

bool within_tolerance(const ModelTarget& target, const Judgement& judgement) {
  return std::fabs(judgement.predicted.value() - target.value) <=
         target.tolerance * std::fabs(target.value);
}

Judgement judge(const ModelTarget& target, std::span<const BoardDescription> boards,
                std::span<const Profile> profiles) {
  try {
    return {Prediction(target, boards, profiles).value(), ""};
  } catch (const Inexpressible& why) {
    return {std::nullopt, why.what()};
  }
}

}  // namespace gearshift
