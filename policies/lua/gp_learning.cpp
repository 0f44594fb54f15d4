#include "policies/lua/gp_learning.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>

#include "policies/lua/answer_fields.h"
#include "policies/lua/gp_search.h"
#include "policies/lua/memory_library.h"
#include "policies/numerics/elementary.h"
#include "policies/numerics/goal_judge.h"

namespace gearshift {
namespace {

// Relative standard deviation of a minibatch time that was seen before power had settled.
constexpr double kCutNoise = 0.1;
// What is known to be slower than was allowed is taken to be so by this factor, more or less,
// unless it is believed to be slower anyway: by the mean of a normal distribution of a quarter, cut
// below.
constexpr double kSlower = 1.2, kSlowerNoise = 0.25;
// Of what was read of a setting that was cut: the mean may hold some of the setting before, which
// may have drawn more, and a reading over the limit is rather too high than too low.
constexpr double kLeastMargin = 0.05;
constexpr const char* kLearn = "gp.learn";

bool positive(double number) { return number > 0 && std::isfinite(number); }
// The relative standard deviation of a mean; 0 where it is not known.
double noise_of(double deviation, double mean) {
  return positive(deviation) ? std::min(0.3, deviation / mean) : 0;
}

double mean_noise_of(double deviation, double mean, double count) {
  return noise_of(deviation, mean) / std::sqrt(std::max(1.0, count));
}

// Of minibatches that were seen before power had settled.
double cut_noise_of(const LearntAnswer::Part& part) {
  return std::max(mean_noise_of(part.ms_stddev, part.ms, part.count),
                  kCutNoise / std::sqrt(std::max(1.0, part.count)));
}

bool known(const LearntAnswer::Part& part) { return part.count > 0 && positive(part.ms); }

// Whether the answer has taught anything.
bool teach(GpSearch& gp, const LearntAnswer& answer, const CostRow& row) {
  const LearntAnswer::Part& infer = answer.parts[index(Kind::infer)];
  if (!gp.interleaved) {
    gp.process->learn(row);
  } else if (!row.over_limit && !known(infer)) {
    return false;
  } else {
    gp.interleaved->process.learn(
        {.setting = row.setting,
         .train_ms = row.minibatch_ms,
         .infer_ms = infer.ms,
         .power_w = row.power_w,
         .train_noise = row.time_noise,
         .infer_noise = mean_noise_of(infer.ms_stddev, infer.ms, infer.count),
         .power_noise = row.power_noise,
         .over_limit = row.over_limit});
  }
  return true;
}

// Of requests without training that were late: the time of the minibatches that there were, or that
// it is longer than was allowed, and nothing of power. nullopt where it tells nothing.
std::optional<CostRow> late_row(const CostProcess& process, const LearntAnswer& answer,
                                std::size_t setting) {
  if (!answer.late) return std::nullopt;
  const LearntAnswer::Part& infer = answer.parts[index(Kind::infer)];
  const CostProcess::Mean believed = process.mean(setting);
  CostRow row{.setting = setting,
              .minibatch_ms = infer.ms,
              .power_w = std::exp(believed.log_power),
              .time_noise = cut_noise_of(infer),
              .power_noise = kSaysNothing};
  if (known(infer)) return row;
  if (!positive(answer.slower_than_ms)) return std::nullopt;
  row.minibatch_ms = std::max(kSlower * answer.slower_than_ms, std::exp(believed.log_time));
  row.time_noise = kSlowerNoise;
  return row;
}

// Of a server that runs alone. Whether it has taught anything.
bool teach_late_server(GpSearch& gp, const LearntAnswer& answer, std::size_t setting) {
  if (gp.grid.kind() != Kind::infer) return false;
  const std::optional<CostRow> row = late_row(*gp.process, answer, setting);
  if (!row) return false;
  gp.process->learn(*row);
  gp.conditioned = false;
  return true;
}

// Of what requests cut short, or left no time to train: the times of the minibatches that there
// were. Whether it has taught anything.
bool teach_times(GpSearch& gp, const LearntAnswer& answer, std::size_t setting) {
  if (!gp.interleaved) return teach_late_server(gp, answer, setting);
  if (!answer.late && !answer.ok) return false;
  InterleavedRow row{.setting = setting};
  const auto time = [](const LearntAnswer::Part& part, double& ms, double& noise) {
    if (!known(part)) return false;
    ms = part.ms;
    noise = cut_noise_of(part);
    return true;
  };
  const bool trained = time(answer.parts[index(Kind::train)], row.train_ms, row.train_noise);
  const bool served = time(answer.parts[index(Kind::infer)], row.infer_ms, row.infer_noise);
  if (!trained && !served) return false;
  gp.interleaved->process.learn(row);
  gp.conditioned = false;
  return true;
}

// The same where training waits. There are windows without a pause between requests, and the guard
// judges each: their power is learnt. Of what was late it says nothing. Nor does a cut say anything
// but that it was tried: such settings lie close to the cap, where what power seems to be on its
// way to is as often wrong as right.
bool teach_alone(GpSearch::Alone& alone, const LearntAnswer& answer, CostRow row) {
  if (row.over_limit) return false;
  if (row.minibatch_ms > 0) {
    if (positive(answer.power_max_w)) row.power_w = std::max(row.power_w, answer.power_max_w);
    alone.process.learn(row);
  } else if (const auto late = late_row(alone.process, answer, row.setting)) {
    alone.process.learn(*late);
  } else {
    return false;
  }
  alone.conditioned = false;
  return true;
}

// Of one kind, from the table on top of the stack.
void copy_part(lua_State* lua, Kind kind, LearntAnswer::Part& part) {
  if (lua_type(lua, -1) != LUA_TTABLE) {
    luaL_error(lua, "gp.learn: %s: expected a table, got %s", kind_name(kind).data(),
               luaL_typename(lua, -1));
  }
  const int table = lua_gettop(lua);
  const char* name = lua_pushfstring(lua, "gp.learn: %s", kind_name(kind).data());
  part = {.given = true,
          .ms = optional_number(lua, table, name, "minibatch_ms"),
          .ms_stddev = optional_number(lua, table, name, "minibatch_ms_stddev"),
          .count = optional_number(lua, table, name, "count")};
  lua_pop(lua, 1);
}

}  // namespace

void copy_answer(lua_State* lua, LearntAnswer& answer) {
  if (lua_type(lua, 1) != LUA_TTABLE) {
    luaL_error(lua, "gp.learn: expected an answer of measure, got %s", luaL_typename(lua, 1));
  }
  lua_getfield(lua, 1, "setting");
  copy_fields(lua, -1, "gp.learn: setting", answer.fields);
  lua_pop(lua, 1);
  answer.ok = optional_flag(lua, 1, kLearn, "ok");
  const std::optional<Outcome> reason = answer_reason(lua, 1, kLearn);
  if (!answer.ok && !reason) {
    luaL_error(lua, "gp.learn: reason: an answer that is not ok has one, got nil");
  }
  answer.over_limit = reason == Outcome::over_limit;
  answer.late = reason == Outcome::late;
  answer.applied =
      reason != Outcome::refused && reason != Outcome::not_applied && reason != Outcome::timed_out;
  answer.minibatch_ms = optional_number(lua, 1, kLearn, "minibatch_ms");
  answer.minibatch_ms_stddev = optional_number(lua, 1, kLearn, "minibatch_ms_stddev");
  answer.count = optional_number(lua, 1, kLearn, "count");
  answer.slower_than_ms = optional_number(lua, 1, kLearn, "slower_than_ms");
  answer.power_w = optional_number(lua, 1, kLearn, "power_w");
  answer.power_max_w = optional_number(lua, 1, kLearn, "power_max_w");
  answer.power_margin_w = optional_number(lua, 1, kLearn, "power_margin_w");
  answer.limit_w = answer.over_limit ? needed_number(lua, 1, kLearn, "limit_w")
                                     : optional_number(lua, 1, kLearn, "limit_w");
  answer.cut_at_w = optional_number(lua, 1, kLearn, "cut_at_w");
  for (const Kind kind : {Kind::train, Kind::infer}) {
    lua_getfield(lua, 1, kind_name(kind).data());
    if (!lua_isnil(lua, -1)) copy_part(lua, kind, answer.parts[index(kind)]);
    lua_pop(lua, 1);
  }
}

// What a setting that was cut short is sure to draw: more than its limit, and as much as was read,
// less the noise of readings. Beside requests what is read is of a turn, and no mean.
double least_drawn_w(const GpSearch& gp, const LearntAnswer& answer) {
  if (gp.interleaved || !positive(answer.cut_at_w)) return answer.limit_w;
  const double margin = std::max(kLeastMargin, gp.margin());
  return std::max(answer.limit_w, answer.cut_at_w * (1 - margin));
}

// Such a setting may fit now: it is to be measured again.
bool cut_by_a_lower_cap(const LearntAnswer& answer, const Goal& goal) {
  if (!answer.over_limit || !positive(answer.limit_w)) return false;
  return !goal.power_mw || *goal.power_mw > std::llround(1000 * answer.limit_w);
}

// So may one that was late while more requests came.
bool worth_another_look(ScriptState& state, const LearntAnswer& answer, const Setting& setting) {
  if (answer.late) return !is_known(state, setting);
  return cut_by_a_lower_cap(answer, state.context.goal);
}

std::optional<bool> learn_answer(ScriptState& state, const LearntAnswer& answer) noexcept {
  Setting setting;
  if (!read_setting(answer.fields, state.context, setting, state.error)) return std::nullopt;
  // Requests may have left no time to train: that teaches only that the setting was tried.
  const bool starved = answer.ok && answer.minibatch_ms == kHuge;
  if (answer.ok && !starved && !(positive(answer.minibatch_ms) && positive(answer.power_w))) {
    state.error =
        ErrorText("an answer that is ok needs minibatch_ms and power_w above 0, power_w finite");
    return std::nullopt;
  }
  GpSearch& gp = *state.gp;
  const bool beside = gp.interleaved && setting.run == Run::both;
  if (beside && answer.ok && !answer.parts[index(Kind::infer)].given) {
    state.error = ErrorText("infer: an answer of training beside inference has its costs");
    return std::nullopt;
  }
  const std::optional<std::size_t> alone = gp.find_alone(setting);
  const std::optional<std::size_t> at = alone ? alone : gp.grid.find(setting);
  if (!at) return false;
  if (!worth_another_look(state, answer, setting)) {
    gp.mark_known(alone ? gp.known_alone : gp.known, *at, answer.applied);
  }
  if (answer.ok) gp.applied.applied(*at);
  if (!answer.applied) gp.applied.failed(*at);
  CostRow row{.setting = *at};
  if (answer.ok && !starved) {
    row.minibatch_ms = answer.minibatch_ms;
    row.power_w = answer.power_w;
    row.time_noise = mean_noise_of(answer.minibatch_ms_stddev, answer.minibatch_ms, answer.count);
    row.power_noise = noise_of(answer.power_margin_w / 3, answer.power_w);
    gp.margins += 3 * row.power_noise;
    ++gp.margin_count;
  } else if (answer.over_limit && positive(answer.limit_w)) {
    row.over_limit = true;
    row.power_w = least_drawn_w(gp, answer);
    if (positive(answer.cut_at_w)) row.cut_at_w = answer.cut_at_w;
  }
  try {
    if (alone) return teach_alone(gp.serving_alone(), answer, row);
    if (!(row.power_w > 0)) return teach_times(gp, answer, *at);
    if (!teach(gp, answer, row)) return false;
    if (answer.ok && !gp.interleaved) {
      const GoalJudge judge(state.context.goal, gp.grid.kind(), kHuge);
      const double batch_size = gp.grid.batch_size(*at);
      gp.smooth.learn(
          *at, judge.log_value(batch_size, std::log(row.minibatch_ms), std::log(row.power_w)));
    }
  } catch (const std::exception& failure) {
    state.error = ErrorText(failure.what());
    return std::nullopt;
  }
  gp.conditioned = false;
  return true;
}

}  // namespace gearshift
