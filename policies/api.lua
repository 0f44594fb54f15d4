---@meta
-- Everything a policy script sees, for editors (LuaLS annotations) and for people. The model behind it
-- stands in docs/policies.md, and what predicts and chooses in api_models.lua. A test compares both files with a
-- live script, so they are complete.

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
---@field energy_j number energy of a sample: mean board power times its time; of requests that come one by
---one to inference alone, mean board power over their rate, as power is drawn between batches too
---@field count integer minibatches measured

---What a setting was measured to cost. Every field is always there; where `ok` is false, times, powers,
---energy and value are math.huge, so that a naive comparison rejects it.
---@class answer: cost of the workload that `setting.run` measures; of both, training, or inference where
---goal.objective is latency
---@field ok boolean a complete, stable measurement
---@field reason string "complete", "over_limit", "refused", "not_applied", "timed_out", "stalled", ...
---@field failed boolean neither ok nor cut short by a limit ("over_limit", "late"): the board or the workload did not
---take the setting, or it could not be read; says nothing of what the setting costs
---@field within boolean ok, and every limit of the goal is kept: mean power plus noise margin is within
---goal.power_w; a sample takes no more than goal.energy_j; inference keeps up with goal.arrivals_per_s and
---its latency is within goal.latency_ms: that of a full batch or, where requests come one by one
---(goal.one_by_one), of half of one within nine tenths of it. So it is false of `run = "train"` beside a server, which
---answers none, where goal.arrivals_per_s is known
---@field setting setting
---@field power_w number mean board power
---@field power_max_w number
---@field power_margin_w number noise margin of the mean: 3 standard deviations
---@field limit_w number the cap it was measured under, or the highest that it was seen to be over; math.huge if there was none
---@field cut_at_w number of a setting that the guard cut short: what was read of its power by then; else math.huge
---@field slower_than_ms number what a minibatch takes more than: of inference that was cut short because requests
---were late, the most that would have answered them in time; else 0
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
---of latency; of a recurring job, the cost of this epoch. math.huge where a trainer waits, by every objective but
---latency, and by throughput where a server waits too
---@field job "none"|"running"|"reached"|"missed"|"stopped" where the run of a recurring job stands after
---this epoch (docs/evaluation/learning.md); "none" where the workload is no such job
---@field epochs integer of this run so far, this one included; 0 where the workload is no such job
---@field epoch_s number time of this epoch; math.huge where the workload is no such job
---@field count integer
---@field duration_s number from the first write to the answer
---@field train cost of each kind; of a setting that was cut short because requests were late
---@field infer cost the times of the minibatches until then, where there were any

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
---@field objective "time"|"energy"|"latency"|"weighted"|"target"|"throughput" what `answer.value` counts:
---seconds or joules a sample, the latency of a request in seconds (where no server is attached or no rate is
---known, the goal says time), a mixture, or seconds of a training sample beside inference (docs/objectives.md)
---@field power_w number the power cap; math.huge if there is none
---@field latency_ms number most latency of a request; math.huge if there is no limit
---@field arrivals_per_s number requests that arrive a second; 0 if not known. As planned for, at least two in
---goal.latency_ms; energy is judged by it too
---@field one_by_one boolean requests come one by one, as a server reports them, and training beside them has
---all the time that they leave over; else only whole minibatches between two of inference count
---@field most_busy number share of the time, at most, that a server which runs alone may be busy: 0.85 where
---requests come one by one and least energy counts, whole or in part, else 1
---@field most_busy_half_full number the same of batches that only half full are in time: no full one shows that
---requests do not queue up
---@field energy_weight number of weighted and target: 0 counts time alone, 1 energy alone
---@field priced_power_w number of target: what a second of training costs, in joules
---@field energy_j number most energy of a sample, in joules; math.huge if there is no limit
---@field reference_ms number of weighted: what a sample takes and costs in the reference, which is
---among `observations`; 0 if not known
---@field reference_j number
---@field latency_of fun(batch_size: number, minibatch_ms: number): number what objective latency counts of a batch
---size and a minibatch time, in ms: batch_size / arrivals_per_s + minibatch_ms; one by one, the mean of requests that
---come by chance, behind others that wait; minibatch_ms where the rate is not known
---@field most_ms fun(batch_size: number): number how long a minibatch of a server that runs alone may take at most, to
---keep up and to answer in time, of full batches or, one by one, of half full ones; 0 or less where none can, math.huge
---where the rate is not known
goal = {}

---Every knob's allowed values, lowest first, by the knob's name.
---@class knobs
---@field names string[] the knobs' names in the board's order
---@field [string] number[]
knobs = {}

---Every power mode, lowest power first by the board's model; in a simulation, and on a board without a
---model, by the product of the knobs' relative positions, capped by a power limit's share of the highest:
---a hint, never data. Read-only; each modes[i] is a new table with one field a knob. There may be more of them than
---the 4096 entries that a script's own list can have: look at them in place.
---@type setting[]
modes = {}

---Every answer known when this run of the script began, in the order they were made; first those whose
---batch sizes the workload did not offer for a while. Read-only. Where a limit cut the same setting short
---since, and still would, an older answer's `within` is false. Under a looser cap `measure` forgets what was cut
---short ("over_limit"); in `observations` it stays, with the cap of then in `limit_w`.
---@type answer[]
observations = {}

---Which of `observations` to look at where there may be thousands: positions in it, oldest first. All of
---them where there are no more than `most`; else each is the newest of its setting that still tells
---something under this goal, a quarter of them the best that keep it, the others the newest. Takes 10
---instructions for each observation there is.
---@param most integer from 1 to 1024
---@return integer[]
function recall(most) end

---Whether `measure` would answer from memory. Takes 30 instructions, once 10 more for each observation.
---@param setting setting
---@return boolean
function known(setting) end

---Allowed batch sizes, lowest first; nil for a kind that is not attached.
---@class batch_sizes
---@field train? integer[]
---@field infer? integer[]
batch_sizes = {}

---What a search may vary: every knob in the board's order, and last the batch size of the kind that
---`measure` answers for, where there is more than one; of inference where the objective is `throughput`
---and requests come at a known rate. `name` is the field of a setting, `values`
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

---The mode that is held where the script has no answer: the lowest in which no knob is below the floor that
---the board has for it (docs/decisions/0003-safe-mode-has-floors.md); that need not be modes[1].
---@type setting
safe = {}

---The file name this script was started by, without folders: one text under two names can be two
---variants.
---@type string
script = ""

---The seed of this run, for a log line; math.random is seeded already.
---@type integer
seed = 0

---Numbers for searches. Lists of at most 256 rows of at most 16 values, from -1e100 to 1e100; weights that come
---out infinite are an error.
numerics = {}
---The weights that bring each row's sum of weight * value nearest to its target, in the sum of
---squares; of several such weights, those of least norm, each taken times the largest value of its column.
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
