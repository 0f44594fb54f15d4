---@meta
-- What scripts may predict and choose with: the models of policies/numerics, for editors (LuaLS
-- annotations) and for people. The rest of what a script sees stands in api.lua.

---The board's cost model (docs/board-model.md), fitted to what was measured: time and power of every
---setting from a handful, with how sure that is. A prediction is never a measurement.
roofline = {
  known = true, -- false where no model of this board is known: then the functions are errors
}

---What a workload demands: in ms*GHz of a minibatch of 16 (training) or of a sample (inference).
---@class roofline_model
---@field A number GPU arithmetic
---@field B number GPU memory traffic
---@field L number the main thread's kernel launches
---@field P number the loader's work
---@field O number the main thread's work after the GPU
---@field kg number W a GHz of the GPU at work
---@field power_scale number what the board's sensor shows over what the model says; near 1
---@field rows integer measurements that it was fitted to
---@field doubted integer of these, so far off that they hardly count: a mode that was not applied
---@field time_error number mean relative error of the minibatch time over the rows: 0.05 is 5 %
---@field power_error number
---@field time_noise number standard deviation of what a measurement is off by, outliers left out
---@field power_noise number

---Fits the model to measured answers: those given, or where `answers` is nil all that are known. An
---answer that the guard cut short says that power is above its cap, one of inference that was cut
---short for late requests after eight minibatches what they took, and before that what they take
---more than (`slower_than_ms`); others that are not ok say
---nothing, nor do answers of settings that do not run what is fitted. What the answers cannot tell stays near `expected`, another workload's model, or near a
---workload of no particular kind; so a fit to no answer is what is expected before the first. Takes
---about 30,000 instructions, and 13,000 an answer, 6,000 where there are more than 24; of more than 64
---answers every so many-th counts.
---@param answers answer[]|nil
---@param expected? roofline_model
---@return roofline_model
function roofline.fit(answers, expected) end

---The model of the workloads in `prior`, the mean of at most three of them: of this kind, on boards
---with a model. Of a table of more than 32,768 rows so many count, drawn evenly from all of it. Costs
---up to 720,000 instructions.
---@return roofline_model|nil
function roofline.prior() end

---@class prediction
---@field minibatch_ms number
---@field power_w number
---@field time_deviation number standard deviation of log(minibatch_ms) of a measurement: 0.05 is 5 %
---@field power_deviation number
---@field value number what the goal minimises; see answer.value
---@param model roofline_model
---@param setting setting
---@return prediction
function roofline.predict(model, setting) end

---Predicts every setting of `dimensions`, at 40 instructions each. Of more than 24,576 settings only
---some are there: the longest dimension loses every other value. A script can hold four surfaces. Where
---training and inference are attached these are the settings of training alone, with the batch size of
---inference as it was at attach: time, power and value are those of training with nothing beside it.
---@param model roofline_model
---@return surface
function roofline.surface(model) end

---PowerTrain's networks (docs/powertrain.md): a reference, trained before, taken over to this workload.
predict = {}

---Why predict.transfer will fail on this board and with these batch sizes, and the way out; nil where nothing is
---known to speak against it. Ask before the first measurement; libtorch is not looked for. 20,000 instructions.
---Of several batch sizes the reference must know each: those it learnt from, from the smallest to the largest.
---@return string|nil
function predict.objection() end

---Trains the reference's networks on all answers that are known, at least three of them, and predicts
---every setting of `dimensions`. The deviations of the surface are twice the errors on these answers.
---It takes a third of a second at most, and a second more where libtorch is not loaded yet, in which
---nothing is guarded: the last answer that was measured must be that of the mode `safe` (remeasure it). An
---error where libtorch is not there, or the reference does not know the board's knobs or several batch sizes.
---@return surface
function predict.transfer() end

pareto = {}

---The points that no other one beats in both of two of their fields, ascending by the first; of equal
---ones the first. Points with an infinite one (not measured) are left out.
---@generic T: table
---@param points T[] tables with these fields, at most 1024: answers or predictions, or one's own
---@param first? string "power_w" by default
---@param second? string "minibatch_ms" by default
---@return T[]
function pareto.front(points, first, second) end

---What is predicted of every setting of `dimensions`. Choices look at all of them, at 4 instructions
---each (`front` at 12); of equals the first in the order of `dimensions` is taken.
---@class surface

---@class surface_terms
---@field power_w? number only settings that are predicted to draw at most this; goal.power_w by default
---@field deviations? number the same with power so many standard deviations above its mean; 0
---@field time_deviations? number only settings that are in time with log time so many above its; 0

---@param setting setting one that the surface has
---@return prediction
function surface:at(setting) end

---Takes the setting out of all later choices.
---@param setting setting
function surface:exclude(setting) end

---Takes all settings out that were observed, before this run or in it, but those that a lower cap or a faster
---arrival of requests cut short, which may keep the goal now; 10 instructions each.
function surface:exclude_known() end

---Takes out what the board hardly puts into force, by what it did and what it refused: a knob may be stuck at its value
---in the safe mode, or above it. 15 instructions a setting that the surface has.
function surface:exclude_unlikely() end

---The setting with the least predicted value that keeps the goal's limits; nothing where none does.
---@param terms? surface_terms
---@return setting|nil, prediction|nil
function surface:best(terms) end

---The setting whose measurement would tell most, late or not: the largest product of the deviations
---of time and power, of requests that come one by one times the odds to be in time, as what is late is cut short. On a surface of roofline this is the next one of a D-optimal design.
---@param terms? surface_terms
---@return setting|nil, prediction|nil
function surface:least_known(terms) end

---The settings that keep the goal's limits and that no other one beats in power and value, lowest
---power first; of more than 64 of them, 64 along the front.
---@param terms? surface_terms
---@return setting[]
function surface:front(terms) end

---Bayesian optimisation over every setting of `dimensions`: a Gaussian process over the logarithms of
---minibatch time and power, around the cost model of the board (docs/policies.md). It begins with the
---rows of `prior`, as roofline.prior takes them, and knows only what the script gives it; each run of a script has one of its own.
gp = {}
---Takes an answer of `measure` into account: one that is ok, or one that was cut short over its limit.
---Of several of one setting the mean counts; of more than 48 settings the last.
---@param answer answer
---An answer needs its setting, and `reason` where it is not ok; numbers that are not given are not known.
---Where the objective is `throughput` and inference with a known rate runs beside training, gp models
---both: the settings are modes and inference batch sizes, and an answer needs `infer`.
---An answer whose setting was refused, not applied or timed out teaches which knobs may be stuck: choices and
---draws leave out what is hardly likely to come into force. It is not learnt in the sense of what is returned.
---@return boolean learnt false where it says nothing of costs, or is of another batch size or run, or of a
---setting that gp does not have: of more than 32,768 (16,384 where `throughput` is the goal) some are left
---out, as those of a surface are
function gp.learn(answer) end

---@class draw_terms
---@field over_odds? number most odds to be over the cap, 0 to 1; 1
---@field temper? number how far from what is expected worlds are drawn, in what the model says; 1
---@class drawn
---@field setting setting not learnt before
---@field value number what the goal minimises, in the world drawn
---@field expected number the same by all that is believed
---@field deviation number standard deviation of log(value)
---@field power_odds number to keep the cap
---@field odds number to keep the whole goal

---Thompson sampling: draws one world of those that may be, by what was learnt, and the setting that
---keeps the goal there at the least value. Nil where none does. Costs as much as gp.next. An error where
---most training beside inference is the goal.
---@param terms? draw_terms
---@return drawn?
function gp.draw(terms) end

---@class smooth_terms
---@field over_odds? number most odds to be over the cap, 0 to 1; 1
---@field expected? number most that gp.draw's beliefs may expect the value to be; any

---As gp.draw, in a world that knows nothing of the board: a parabola in each knob and a smooth process,
---by what was learnt alone. Nothing of a setting's own is drawn, so settings come in the order of what
---their neighbours promise. Odds are those of gp.draw. Nil where nothing was learnt either.
---@param terms? smooth_terms
---@return drawn?
function gp.draw_smooth(terms) end

---@class probe_terms
---@field best? number the least `answer.value` so far of an answer within the goal; of training beside
---inference it may be math.huge, where no training minibatch has room
---@field busy_ms? number ms that inference is busy for a request in the best setting; where `best` is
---math.huge, what leaves more time to bursts of requests gains too, while they need more than half of it
---@field price? number what a probe over the cap costs, as a share of the value (0.01 is 1 %); 0
---@field power_odds? number least odds to keep the cap, 0 to 1; 0
---@field doubt? number so many times as unsure of each setting as it is, the process is taken to be; 1
---@field safest? number where no setting has `power_odds`, or the best is less than half as likely to keep
---the whole goal (beside inference: is less likely to): the setting most likely to, whatever it gains,
---if it is at least so likely; where requests come one by one its odds count with those that training
---fits beside its batches; nil: none
---@field most_over? number once so many settings of a batch size were over the cap it waits, as long as a
---setting of another one has a tenth of its odds; nil: none waits. Not beside inference
---@field run? "infer" where most training beside inference is the goal: what serves requests while training
---waits, in the least time for each; `best` is then the least such time in seconds, infer.minibatch_ms / 1000 /
---setting.infer_batch. What is believed of that comes from answers of such settings, and of their power what
---the highest window drew

---@class probe
---@field setting setting not learnt before
---@field gain number expected improvement of the value, as a share of it, times the odds that the goal
---is kept, less the price times the odds that the cap is not; without a best, over a slow setting
---@field power_odds number to keep the cap
---@field odds number to keep the whole goal
---@field minibatch_ms number predicted
---@field power_w number predicted
---@field time_deviation number standard deviation, as a share of minibatch_ms
---@field power_deviation number standard deviation, as a share of power_w

---The setting whose measurement promises most. Nil where none has such odds. Costs up to a quarter of
---the instructions between two answers, and the first use of gp another 600,000.
---@param terms? probe_terms
---@return probe?
function gp.next(terms) end

---Normal-inverse-gamma posteriors: what values say of the mean and the variance of the normal
---distribution that they are drawn from (Murphy 2007, "Conjugate Bayesian analysis of the Gaussian
---distribution", section 6). Values and means are from -1e15 to 1e15, the rest at most 1e15, scale 1e33: beyond that
---an update adds nothing.
posterior = {}

---@class belief
---@field mean number expected mean
---@field weight number what the mean is worth, in values; 0: nothing
---@field shape number what the variance is worth, in half values; above 0
---@field scale number shape times the expected variance; from 0

---What is believed after the values, of which there are at most 256, were seen.
---@param prior belief
---@param values number[]
---@return belief
function posterior.update(prior, values) end

---A mean drawn from the belief: Student's t distribution with 2 * shape degrees of freedom. The weight
---must be above 0.
---@param belief belief
---@return number
function posterior.draw(belief) end

---The library: an allow list. Numbers come first and strings second in pairs, both ascending; sort
---is stable; random is seeded from the seed, the script's name and the number of observations.
function assert(value, message, ...) end
function error(message, level) end
function ipairs(list) end
function pairs(values) end
function select(index, ...) end
function tonumber(text) end
function tostring(value) end
function type(value) end

math = {
  huge = 1 / 0,
  pi = 3.141592653589793,
  maxinteger = 9223372036854775807,
  mininteger = -9223372036854775808,
}
function math.abs(x) end
function math.acos(x) end
function math.asin(x) end
function math.atan(y, x) end
function math.ceil(x) end
function math.cos(x) end
function math.deg(x) end
function math.exp(x) end
function math.floor(x) end
function math.fmod(x, y) end
function math.log(x, base) end
function math.max(x, ...) end
function math.min(x, ...) end
function math.modf(x) end
function math.rad(x) end
function math.random(low, high) end
function math.sin(x) end
function math.sqrt(x) end
function math.tan(x) end
function math.tointeger(x) end
function math.type(x) end
function math.ult(m, n) end

string = {}
function string.byte(text, first, last) end
---Knows %d %i %x %X %c %e %f %g %s and %%; at most 1024 bytes of result.
function string.format(format, ...) end
function string.len(text) end
function string.lower(text) end
function string.sub(text, first, last) end
function string.upper(text) end

table = {}
function table.concat(list, gap, first, last) end
function table.insert(list, position, value) end
function table.remove(list, position) end
function table.sort(list, before) end
---At most 64 values.
function table.unpack(list, first, last) end
