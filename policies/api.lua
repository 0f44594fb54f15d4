---@meta
-- Everything a policy script sees, for editors (LuaLS annotations) and for people. The model behind it
-- stands in docs/policies.md. A test compares this file with a live script, so it is complete.

---A power mode and what runs in it. One field a knob of the board (see `knobs`), a number in the
---unit people read (MHz, W), exactly one of its values; on a Jetson these are cpu_cores, cpu_mhz,
---gpu_mhz and mem_mhz. Only knobs are required.
---@class setting
---@field [string] number one field a knob
---@field train_batch? integer samples; the batch size at attach by default
---@field infer_batch? integer samples; the batch size at attach by default
---@field run? "train"|"infer"|"both" whatever is attached by default

---What one kind of workload cost. math.huge where it did not run or the answer is not ok.
---@class cost
---@field minibatch_ms number mean time of a minibatch
---@field minibatch_ms_stddev number
---@field minibatch_ms_p99 number
---@field fetch_stall_ms number visible wait for data in a minibatch
---@field compute_ms number forward, backward and launch time of a minibatch
---@field sample_ms number time of a sample: minibatch_ms over the batch size
---@field energy_j number energy of a sample: mean board power times its time
---@field count integer minibatches measured

---What a setting was measured to cost. Every field is always there. Where `ok` is false, times,
---powers, energy and value are math.huge, so that a naive comparison rejects the setting.
---@class answer: cost of the workload that `setting.run` measures; training where both run
---@field ok boolean a complete, stable measurement
---@field reason string "complete", "over_limit", "refused", "not_applied", "timed_out", "stalled", ...
---@field within boolean ok, and every limit of the goal is kept: mean power plus noise margin is within
---goal.power_w; a sample takes no more than goal.energy_j; inference keeps up with goal.arrivals_per_s and
---its latency is within goal.latency_ms
---@field setting setting
---@field power_w number mean board power
---@field power_max_w number
---@field power_margin_w number noise margin of the mean: 3 standard deviations
---@field limit_w number the cap it was measured under; math.huge if there was none
---@field minibatch_ms number
---@field minibatch_ms_stddev number
---@field minibatch_ms_p99 number
---@field fetch_stall_ms number
---@field compute_ms number
---@field sample_ms number
---@field energy_j number
---@field latency_ms number of a request: its wait for a full batch at goal.arrivals_per_s, and the
---minibatch; math.huge where no inference ran or the rate is not known
---@field value number what the goal minimises (docs/objectives.md): seconds or joules a sample, or seconds
---of latency; of a recurring job, the cost of this epoch
---@field job "none"|"running"|"reached"|"missed"|"stopped" where the run of a recurring job stands after
---this epoch (docs/evaluation.md); "none" where the workload is no such job
---@field epochs integer of this run so far, this one included; 0 where the workload is no such job
---@field epoch_s number time of this epoch; math.huge where the workload is no such job
---@field count integer
---@field duration_s number from the first write to the answer
---@field train cost
---@field infer cost

---Asks what a setting costs: yields until there is a stable measurement, while the workload keeps
---running. A setting measured before is answered from memory, which costs 1000 instructions.
---@param setting setting
---@return answer
function measure(setting) end

---The same, but measures again even where the answer is known, unless the guard cut it short under
---this cap: that is not tried again.
---@param setting setting
---@return answer
function remeasure(setting) end

---Shows a line to the operator: 200 bytes of it, and 64 lines between two requests.
---@param text string|number
function log(text) end

---@class goal
---@field objective "time"|"energy"|"latency"|"weighted"|"target" what `answer.value` counts: seconds or
---joules a sample, the latency of a request in seconds, or a mixture (docs/objectives.md)
---@field power_w number the power cap; math.huge if there is none
---@field latency_ms number most latency of a request; math.huge if there is no limit
---@field arrivals_per_s number requests that arrive a second; 0 if not known
---@field energy_weight number of weighted and target: 0 counts time alone, 1 energy alone
---@field priced_power_w number of target: what a second of training costs, in joules
---@field energy_j number most energy of a sample, in joules; math.huge if there is no limit
---@field reference_ms number of weighted: what a sample takes and costs in the reference, which is
---among `observations`; 0 if not known
---@field reference_j number
goal = {}

---Every knob's allowed values, lowest first, by the knob's name.
---@class knobs
---@field names string[] the knobs' names in the board's order
---@field [string] number[]
knobs = {}

---Every power mode, lowest power first by the board's model: a hint, never data. Read-only; each
---modes[i] is a new table with one field a knob.
---@type setting[]
modes = {}

---Every answer known when this run of the script began, in the order they were made. Read-only.
---@type answer[]
observations = {}

---Allowed batch sizes, lowest first; nil for a kind that is not attached.
---@class batch_sizes
---@field train? integer[]
---@field infer? integer[]
batch_sizes = {}

---What a search may vary: every knob in the board's order, and last the batch size of the kind that
---`measure` answers for, where there is more than one. `name` is the field of a setting, `values`
---what it may be, lowest first.
---@class dimension
---@field name string
---@field values number[]
---@type dimension[]
dimensions = {}

---A row of a table that was measured before.
---@class prior_row
---@field device string
---@field workload string
---@field kind "train"|"infer"
---@field mode table<string, number> one field a knob of that device
---@field batch_size integer
---@field minibatch_ms number
---@field power_w number
---Every row of the files the user named with --prior, file after file. Read-only; each prior[i] is
---a new table. Empty where none was named.
---@type prior_row[]
prior = {}

---@class attached
---@field name string
---@field batch_size integer at attach
---@field samples_per_epoch integer 0 where the client did not say

---@class workload
---@field train? attached
---@field infer? attached
workload = {}

---The mode that is held where the script has no answer: the lowest.
---@type setting
safe = {}

---The file name this script was started by, without folders: one text under two names can be two
---variants.
---@type string
script = ""

---The seed of this run, for a log line; math.random is seeded already.
---@type integer
seed = 0

---Numbers for searches. Lists of at most 256 rows of at most 16 values.
numerics = {}
---The weights that bring each row's sum of weight * value nearest to its target, in the sum of
---squares; of several such weights, those of least norm.
---@param rows number[][]
---@param targets number[] one a row
---@return number[] weights
function numerics.least_squares(rows, targets) end

---The weights, none negative, that bring each row's sum of weight * value nearest to its target, and
---themselves near to `expected`: they minimise the sum of row.weight * (target - sum)^2, plus `pull`
---times the sum of (weight - expected)^2. A row with `at_least = true` says only that its sum is no
---less than its target; row.weight is 1 by default.
---@param rows table[] lists of numbers, with the optional fields weight and at_least
---@param targets number[] one a row
---@param expected number[] one a weight
---@param pull number above 0
---@return number[] weights
function numerics.nonnegative_fit(rows, targets, expected, pull) end

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
---answer that the guard cut short says that power is above its cap; others that are not ok say
---nothing. What the answers cannot tell stays near `expected`, another workload's model, or near a
---workload of no particular kind; so a fit to no answer is what is expected before the first. Takes
---about 30,000 instructions, and 13,000 an answer, 6,000 where there are more than 24; of more than 64
---answers every so many-th counts.
---@param answers answer[]|nil
---@param expected? roofline_model
---@return roofline_model
function roofline.fit(answers, expected) end

---The model of the workloads in `prior`, the mean of at most three of them: of this kind, on boards
---with a model. Costs up to 720,000 instructions.
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
---some are there: the longest dimension loses every other value. A script can hold four surfaces.
---@param model roofline_model
---@return surface
function roofline.surface(model) end

---PowerTrain's networks (docs/powertrain.md): a reference, trained before, taken over to this workload.
predict = {}

---Trains the reference's networks on all answers that are known, at least three of them, and predicts
---every setting of `dimensions`. The deviations of the surface are twice the errors on these answers.
---It takes a third of a second at most, and a second more where libtorch is not loaded yet, in which
---nothing is guarded: the last answer that was measured must be that of the mode `safe` (remeasure it). An
---error where libtorch is not there, or the reference does not know the board's knobs or several batch sizes.
---@return surface
function predict.transfer() end

pareto = {}

---The points that no other one beats in both of two of their fields, ascending by the first; of equal
---ones the first.
---@generic T: table
---@param points T[] tables with these fields, at most 1024: answers or predictions, or one's own
---@param first? string "power_w" by default
---@param second? string "minibatch_ms" by default
---@return T[]
function pareto.front(points, first, second) end

---What is predicted of every setting of `dimensions`. Choices look at all of them, at 4 instructions
---each (`front` at 12); of equals the first in the order of `dimensions` is taken.
---@class surface

---@class choice
---@field power_w? number only settings that are predicted to draw at most this; goal.power_w by default
---@field deviations? number the same with power so many standard deviations above its mean; 0
---@field time_deviations? number only settings that are in time with log time so many above its; 0

---@param setting setting one that the surface has
---@return prediction
function surface:at(setting) end

---Takes the setting out of all later choices.
---@param setting setting
function surface:exclude(setting) end

---The setting with the least predicted value that keeps the goal's limits; nothing where none does.
---@param choice? choice
---@return setting|nil, prediction|nil
function surface:best(choice) end

---The setting whose measurement would tell most, late or not: the largest product of the deviations
---of time and power. On a surface of roofline this is the next one of a D-optimal design.
---@param choice? choice
---@return setting|nil, prediction|nil
function surface:least_known(choice) end

---The settings that keep the goal's limits and that no other one beats in power and value, lowest
---power first; of more than 64 of them, 64 along the front.
---@param choice? choice
---@return setting[]
function surface:front(choice) end

---Bayesian optimisation over every setting of `dimensions`: a Gaussian process over the logarithms of
---minibatch time and power, around the cost model of the board (docs/policies.md). It begins with the
---rows of `prior`, and knows only what the script gives it; each run of a script has one of its own.
gp = {}
---Takes an answer of `measure` into account: one that is ok, or one that was cut short over its limit.
---Of several of one setting the mean counts; of more than 48 settings the last.
---@param answer answer
---@return boolean learnt false where it says nothing, or is of another batch size or run
function gp.learn(answer) end

---@class draw_terms
---@field over? number most odds to be over the cap, 0 to 1; 1
---@field temper? number so many times as far from what is expected as the model says, worlds are drawn; 1

---@class drawn
---@field setting setting not learnt before
---@field value number what the goal minimises, in the world drawn
---@field expected number the same by all that is believed
---@field deviation number standard deviation of log(value)
---@field power_odds number to keep the cap
---@field odds number to keep the whole goal

---Thompson sampling: draws one world of those that may be, by what was learnt, and the setting that
---keeps the goal there at the least value. Nil where none does. Costs as much as gp.next.
---@param terms? draw_terms
---@return drawn?
function gp.draw(terms) end

---@class terms
---@field best? number the least `answer.value` so far of an answer within the goal
---@field price? number what a probe over the cap costs, as a share of the value (0.01 is 1 %); 0
---@field odds? number least odds to keep the cap, 0 to 1; 0
---@field doubt? number so many times as unsure of each setting as it is, the process is taken to be; 1
---@field safest? number where no setting has `odds`, or the best is less than half as likely to keep
---the whole goal: the setting most likely to, whatever it gains, if it is at least so likely; nil: none

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

---The setting whose measurement promises most. Nil where none has such odds. Costs up to half of the
---instructions between two answers.
---@param terms? terms
---@return probe?
function gp.next(terms) end

---Normal-inverse-gamma posteriors: what values say of the mean and the variance of the normal
---distribution that they are drawn from (Murphy 2007, "Conjugate Bayesian analysis of the Gaussian
---distribution", section 6).
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
