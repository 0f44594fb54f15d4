#include "bridge/explanation_answer.h"

#include <algorithm>
#include <array>
#include <msgpack.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "bridge/answer_reader.h"
#include "bridge/battery_answer.h"

namespace gearshift::wire {
namespace {

using Row = std::vector<std::int64_t>;

constexpr std::size_t kRowsPerPage = 10;  // of 220 bytes at most, beside a head of 1872
constexpr std::int64_t kOutcomes = static_cast<std::int64_t>(Outcome::late) + 1;
constexpr std::array<std::string_view, 4> kUnitNames = {"count", "khz", "mw", "percent"};

// The knobs' values in their smallest units, the batch sizes, and what runs.
Row row_of(const Setting& setting, std::size_t knobs) {
  Row row(setting.mode.values.begin(),
          setting.mode.values.begin() + static_cast<std::ptrdiff_t>(knobs));
  row.insert(row.end(), setting.batch_size.begin(), setting.batch_size.end());
  row.push_back(static_cast<std::int64_t>(setting.run));
  return row;
}

// Two numbers, 0 where nothing was predicted.
Row row_of(const std::optional<PredictedCost>& predicted) {
  if (!predicted) return {0, 0};
  return {predicted->minibatch.count(), predicted->power_mw};
}

Row row_of(const Tried& tried, std::size_t knobs) {
  const Observation& seen = tried.observation;
  Row row = row_of(seen.setting, knobs);
  row.insert(row.end(), {static_cast<std::int64_t>(seen.outcome), seen.power_is_estimate ? 1 : 0,
                         seen.power_mean_mw, seen.power_margin_mw, seen.limit_mw,
                         rounded(seen.late_per_s * kMillion), tried.times});
  for (const Cost& cost : seen.cost) {
    row.insert(row.end(), {cost.minibatch_mean.count(), cost.minibatches});
  }
  const Row predicted = row_of(tried.predicted);
  row.insert(row.end(), predicted.begin(), predicted.end());
  return row;
}

// Takes a row's numbers one by one.
class RowReader {
 public:
  explicit RowReader(const Row& row) : row_(row) {}
  std::int64_t next(std::int64_t low = 0, std::int64_t high = std::int64_t{1} << 60) {
    if (at_ >= row_.size() || row_[at_] < low || row_[at_] > high) {
      throw std::runtime_error("the answer has a setting that is none");
    }
    return row_[at_++];
  }

 private:
  const Row& row_;
  std::size_t at_ = 0;
};

Setting read_setting(RowReader& row, std::size_t knobs) {
  Setting setting;
  setting.mode.count = static_cast<std::uint8_t>(knobs);
  for (std::size_t i = 0; i < knobs; ++i) setting.mode.values[i] = row.next();
  for (std::int32_t& size : setting.batch_size) {
    size = static_cast<std::int32_t>(row.next(0, kMaxBatchSize));
  }
  setting.run = static_cast<Run>(row.next(0, 2));
  return setting;
}

std::optional<PredictedCost> read_prediction(RowReader& row) {
  const PredictedCost predicted{Duration(row.next()), row.next(0, kMaxPowerMw)};
  if (predicted.minibatch == Duration::zero()) return std::nullopt;
  return predicted;
}

Tried read_tried(const Row& numbers, std::size_t knobs) {
  RowReader row(numbers);
  Tried tried;
  Observation& seen = tried.observation;
  seen.setting = read_setting(row, knobs);
  seen.outcome = static_cast<Outcome>(row.next(0, kOutcomes - 1));
  seen.power_is_estimate = row.next(0, 1) != 0;
  seen.power_mean_mw = row.next(-kMaxPowerMw, kMaxPowerMw);
  seen.power_margin_mw = row.next(0, kMaxPowerMw);
  seen.limit_mw = row.next(0, kMaxPowerMw);
  seen.late_per_s = static_cast<double>(row.next()) / kMillion;
  tried.times = static_cast<std::uint32_t>(row.next(0, UINT32_MAX));
  for (Cost& cost : seen.cost) {
    cost.minibatch_mean = Duration(row.next());
    cost.minibatches = static_cast<std::uint32_t>(row.next(0, UINT32_MAX));
  }
  tried.predicted = read_prediction(row);
  return tried;
}

Goal read_goal(const AnswerReader& answer) {
  Goal goal;
  const auto name = answer.get<std::string>("objective");
  for (const Objective one : kObjectives) {
    if (objective_name(one) == name) goal.objective = one;
  }
  goal.objective_by_default = answer.bool_or_false("objective_by_default");
  const auto integer = [&](const char* field) { return answer.get<std::int64_t>(field); };
  goal.energy_weight = static_cast<double>(integer("energy_weight_ppm")) / kMillion;
  goal.reference_s = static_cast<double>(integer("reference_ns")) / 1e9;
  goal.reference_j = static_cast<double>(integer("reference_uj")) / 1e6;
  goal.priced_power_mw = integer("priced_power_mw");
  const std::int64_t latency_ns = integer("latency_ns");
  if (latency_ns > 0) goal.latency = Duration(latency_ns);
  const std::int64_t energy_uj = integer("energy_uj");
  if (energy_uj > 0) goal.energy_j = static_cast<double>(energy_uj) / 1e6;
  const std::int64_t arrival_ns = integer("arrival_interval_ns");
  if (arrival_ns > 0) goal.arrivals_per_s = 1e9 / static_cast<double>(arrival_ns);
  goal.one_by_one = answer.bool_or_false("one_by_one");
  return goal;
}

KnobSpace read_knobs(const AnswerReader& answer) {
  const auto names = answer.get<std::vector<std::string>>("knobs");
  const auto units = answer.get<std::vector<std::string>>("units");
  KnobSpace space;
  if (names.size() != units.size() || names.size() > kMaxKnobs) {
    throw std::runtime_error("the answer's knobs are none");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto* const unit = std::find(kUnitNames.begin(), kUnitNames.end(), units[i]);
    if (unit == kUnitNames.end()) throw std::runtime_error("the answer's unit is none");
    space.knobs.push_back(
        {names[i], static_cast<Unit>(unit - kUnitNames.begin()), KnobClass::clock, {}});
  }
  return space;
}

void read_head(const AnswerReader& page, ExplanationAnswer& answer) {
  const auto duration = [&](const char* field) {
    return Duration(std::clamp<std::int64_t>(page.get<std::int64_t>(field), 0, INT64_C(1) << 60));
  };
  answer.knobs = read_knobs(page);
  answer.now = Time(Duration(INT64_C(1) << 61));  // only spans up to it are told
  answer.total = page.get<std::uint32_t>("total");
  answer.rationale.set_goal(read_goal(page));
  answer.rationale.cap = {page.get<std::int64_t>("cap_mw"), page.get<std::string>("cap_source"),
                          answer.now - duration("cap_ns")};
  Rationale::Held& held = answer.rationale.held;
  const auto holding = page.get<std::string>("holding");
  for (const Holding one : {Holding::choice, Holding::best, Holding::safe, Holding::fallback}) {
    if (holding_name(one) == holding) held.holding = one;
  }
  const Row setting = page.get<Row>("setting");
  RowReader row(setting);
  held.setting = read_setting(row, answer.knobs.size());
  held.since = answer.now - duration("held_ns");
  held.why = page.get<std::string>("why");
  const Row predicted = page.get<Row>("predicted");
  RowReader numbers(predicted);
  held.predicted = read_prediction(numbers);
  answer.rationale.plan = page.get<std::string>("plan");
  answer.rationale.heat = page.text_or_empty("heat");
  answer.rationale.battery = read_battery(page.get<Row>("battery"));
  answer.rationale.battery.taken = answer.now - Duration(page.span_ns_or_zero("battery_age_ns"));
}

}  // namespace

void pack(FrameBuffer& buffer, const Rationale& rationale, const KnobSpace& knobs, Time now,
          std::uint32_t from) {
  const Goal& goal = rationale.goal();
  AnswerWriter answer(buffer, "explanation", 27);
  answer.add("holding", holding_name(rationale.held.holding));
  answer.add("why", std::string_view(rationale.held.why).substr(0, kMaxMessageBytes));
  const bool holds = rationale.held.holding != Holding::nothing;
  answer.add("held_ns", holds ? (now - rationale.held.since).count() : 0);
  answer.add("setting", row_of(rationale.held.setting, knobs.size()));
  answer.add("predicted", row_of(rationale.held.predicted));
  const std::string plan = rationale.plan_now();
  answer.add("plan", std::string_view(plan).substr(0, kMaxMessageBytes));
  answer.add("heat", std::string_view(rationale.heat).substr(0, kMaxMessageBytes));
  answer.add("battery", battery_row(rationale.battery));
  answer.add("battery_age_ns", age_ns(rationale.battery, now));
  answer.add("cap_mw", rationale.cap.power_mw);
  answer.add("cap_source", std::string_view(rationale.cap.source).substr(0, kMaxTextBytes));
  answer.add("cap_ns", (now - rationale.cap.since).count());
  answer.add("objective", objective_name(goal.objective));
  answer.add("objective_by_default", goal.objective_by_default);
  answer.add("energy_weight_ppm", rounded(goal.energy_weight * kMillion));
  answer.add("reference_ns", rounded(goal.reference_s * 1e9));
  answer.add("reference_uj", rounded(goal.reference_j * 1e6));
  answer.add("priced_power_mw", goal.priced_power_mw);
  answer.add("latency_ns", goal.latency.value_or(Duration::zero()).count());
  answer.add("energy_uj", rounded(goal.energy_j.value_or(0) * 1e6));
  answer.add("arrival_interval_ns",
             goal.arrivals_per_s > 0 ? rounded(1e9 / goal.arrivals_per_s) : std::int64_t{0});
  answer.add("one_by_one", goal.one_by_one);
  std::vector<std::string> names;
  std::vector<std::string> units;
  for (const Knob& knob : knobs.knobs) {
    names.push_back(knob.name);
    units.emplace_back(kUnitNames[static_cast<std::size_t>(knob.unit)]);
  }
  answer.add("knobs", names);
  answer.add("units", units);
  const std::vector<Tried>& tried = rationale.tried();
  const std::size_t begin = std::min<std::size_t>(from, tried.size());
  const std::size_t end = std::min(begin + kRowsPerPage, tried.size());
  std::vector<Row> rows;
  for (std::size_t i = begin; i < end; ++i) rows.push_back(row_of(tried[i], knobs.size()));
  answer.add("total", static_cast<std::uint32_t>(tried.size()));
  answer.add("from", static_cast<std::uint32_t>(begin));
  answer.add("tried", rows);
}

bool add_explanation(std::string_view frame, ExplanationAnswer& answer) {
  const AnswerReader page(frame);
  page.require_type("explanation");
  const auto from = page.get<std::uint32_t>("from");
  if (from == 0) read_head(page, answer);
  const auto rows = page.get<std::vector<Row>>("tried");
  for (const Row& row : rows) answer.rationale.add(read_tried(row, answer.knobs.size()));
  const std::size_t have = answer.rationale.tried().size();
  return !rows.empty() && have < answer.total && have < Rationale::kMostTried;
}

}  // namespace gearshift::wire
