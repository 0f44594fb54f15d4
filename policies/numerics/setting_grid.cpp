#include "policies/numerics/setting_grid.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <string_view>

namespace gearshift {
namespace {

struct ClockKnob {
  std::string_view knob;
  double ModelMode::*part;
  double scale;  // of the knob's unit in the model's
};

constexpr ClockKnob kClocks[] = {{"cpu_cores", &ModelMode::cpu_cores, 1},
                                 {"cpu_mhz", &ModelMode::cpu_ghz, 1e6},
                                 {"gpu_mhz", &ModelMode::gpu_ghz, 1e6},
                                 {"mem_mhz", &ModelMode::mem_ghz, 1e6}};

std::vector<std::int64_t> allowed_batches(const Workload& workload) {
  if (workload.batch_size_count == 0) return {workload.batch_size};
  return {workload.batch_sizes.begin(), workload.batch_sizes.begin() + workload.batch_size_count};
}

}  // namespace

SettingGrid::SettingGrid(const PolicyContext& context, const ModelMode& highest, std::size_t most,
                         std::optional<Kind> kind)
    : knobs_(context.knobs->size()), highest_(highest) {
  const bool trains = context.workloads[index(Kind::train)] != nullptr;
  const bool infers = context.workloads[index(Kind::infer)] != nullptr;
  assert(trains || infers);
  // As the last of a script's `dimensions`.
  kind_ = kind.value_or(trains && !context.latency_counts() ? Kind::train : Kind::infer);
  base_.run = trains && infers ? Run::both : trains ? Run::train : Run::infer;
  base_.mode.count = static_cast<std::uint8_t>(knobs_);
  for (const Kind one : {Kind::train, Kind::infer}) {
    const Workload* workload = context.workloads[index(one)];
    if (workload != nullptr) base_.batch_size[index(one)] = workload->batch_size;
  }
  for (std::size_t i = 0; i < knobs_; ++i) {
    const Knob& knob = context.knobs->knobs[i];
    values_[i] = knob.values;
    for (const ClockKnob& clock : kClocks) {
      if (clock.knob != knob.name) continue;
      clock_[i] = clock.part;
      scale_[i] = clock.scale;
    }
  }
  values_[knobs_] = allowed_batches(*context.workloads[index(kind_)]);
  thin(most);
}

void SettingGrid::thin(std::size_t most) {
  while (true) {
    size_ = 1;
    std::size_t longest = 0;
    for (std::size_t d = 0; d <= knobs_; ++d) {
      size_ *= values_[d].size();
      if (values_[d].size() > values_[longest].size()) longest = d;
    }
    std::vector<std::int64_t>& values = values_[longest];
    if (size_ <= most || values.size() <= 2) return;
    std::vector<std::int64_t> kept;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2) kept.push_back(values[i]);
    kept.push_back(values.back());
    values = std::move(kept);
  }
}

SettingGrid::Position SettingGrid::position(std::size_t number) const {
  Position position{};
  for (std::size_t d = knobs_ + 1; d-- > 0;) {
    position[d] = static_cast<std::uint16_t>(number % values_[d].size());
    number /= values_[d].size();
  }
  return position;
}

std::size_t SettingGrid::number(const Position& position) const {
  std::size_t number = 0;
  for (std::size_t d = 0; d <= knobs_; ++d) number = number * values_[d].size() + position[d];
  return number;
}

Setting SettingGrid::setting(std::size_t number) const {
  const Position at = position(number);
  Setting setting = base_;
  for (std::size_t i = 0; i < knobs_; ++i) setting.mode.values[i] = values_[i][at[i]];
  setting.batch_size[index(kind_)] = static_cast<std::int32_t>(values_[knobs_][at[knobs_]]);
  return setting;
}

std::optional<std::size_t> SettingGrid::find(const Setting& setting) const {
  Position at{};
  Setting same = base_;
  same.mode = setting.mode;
  same.batch_size[index(kind_)] = setting.batch_size[index(kind_)];
  if (same != setting) return std::nullopt;
  for (std::size_t d = 0; d <= knobs_; ++d) {
    const std::int64_t value =
        d < knobs_ ? setting.mode.values[d] : setting.batch_size[index(kind_)];
    const auto found = std::lower_bound(values_[d].begin(), values_[d].end(), value);
    if (found == values_[d].end() || *found != value) return std::nullopt;
    at[d] = static_cast<std::uint16_t>(std::distance(values_[d].begin(), found));
  }
  return number(at);
}

void SettingGrid::set_clock(ModelMode& mode, std::size_t knob, std::int64_t value) const {
  if (clock_[knob] != nullptr) mode.*clock_[knob] = static_cast<double>(value) / scale_[knob];
}

ModelMode SettingGrid::mode(std::size_t number) const {
  const Position at = position(number);
  ModelMode mode = highest_;
  for (std::size_t i = 0; i < knobs_; ++i) set_clock(mode, i, values_[i][at[i]]);
  return mode;
}

double SettingGrid::batch_size(std::size_t number) const {
  return static_cast<double>(values_[knobs_][number % values_[knobs_].size()]);
}

ModelMode SettingGrid::mode(const Setting& setting) const {
  ModelMode mode = highest_;
  for (std::size_t i = 0; i < knobs_; ++i) set_clock(mode, i, setting.mode.values[i]);
  return mode;
}

}  // namespace gearshift
