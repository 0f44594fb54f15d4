-- Thompson sampling: draws what may be true from what is believed, and does what would then be best. So
-- what is hopeless is left alone, what may be better is tried, and it never quite stops trying.
-- docs/policies.md has the sources, and what the constants are.
--
-- A recurring job (objective target): which batch size and which mode, most often a power limit, reach the
-- target at the least cost. A run's cost is the epochs it takes, which depend on the batch size and on chance,
-- times the cost of an epoch, which hardly varies; so what is drawn is each batch size's mean number of epochs,
-- from a normal-inverse-gamma belief, and the modes are measured an epoch each while runs go on.
--
-- Anything else: which of thousands of settings costs least. What is drawn is a whole world (gp.draw): the
-- demands of the workload on the board's cost model, and a Gaussian process for what the model lacks, so
-- that one measurement says something of all settings. A setting that was measured has a belief of its
-- own, normal-inverse-gamma around its measurements, and is drawn from that.

assert(goal.objective ~= "throughput" or not (workload.train and workload.infer),
  "searches for one workload, not for training beside inference: bayes, gradient, binary_search and ogd do")

-- Recurring jobs.

local DEVIATION <const> = 0.1 -- of a run's epochs about their mean, expected before any repeats
local DEVIATION_WORTH <const> = 4 -- what that is worth, in runs
local SHAPE <const> = 10 -- how like each other batch sizes are taken to be in that, in half runs
local MUCH_DEARER <const> = 1.1 -- than modes above it: one below which not to look
local UNLIKELY <const> = 1.1 -- times the least cost known, where a new batch size is put off
local PROMISE <const> = 0.8 -- of the extrapolated cost: how convex costs are trusted to be
local PATIENCE <const> = 0.005 -- how much less that is, as a share, with every run
local TEMPER <const> = 0.5 -- of a draw's distance from the mean: 1 is Thompson sampling, 0 greed
local MOST_MODES <const> = 128 -- that may be measured an epoch each: with more, most runs would go by first
local MOST_RUNS <const> = 256 -- of a batch size that count, the newest
local FALL <const> = 0.5 -- exponent by which epochs fall with the batch size below

local space = {} -- settings without a batch size, dearest mode first
-- One arm a batch size: `cost[i]` of an epoch in space[i], infinite where unknown; `hopeless` modes, and the
-- next one to measure; `epochs` of the runs that `reached` the target, and what all others cost, `lost`; `floor`,
-- the least that a run costs by what is known, until one reached it.
local arms = {}
local first, low, high, runs = 1, 1, 1, 0 -- the job's own arm, those that were tried; and runs so far

local function mean(values)
  local sum = 0
  for _, value in ipairs(values) do sum = sum + value end
  return sum / #values
end

-- The best of the modes measured, and what an epoch costs there.
local function best_mode(arm)
  local best, least = nil, math.huge
  for i, cost in ipairs(arm.cost) do
    if cost < least then best, least = i, cost end
  end
  return best, least
end

-- The next mode to measure, from the dearest down; then the best.
local function mode_of(arm)
  while arm.hopeless[arm.next_mode] do arm.next_mode = arm.next_mode + 1 end
  return arm.next_mode <= #space and arm.next_mode or (best_mode(arm))
end

local function cost_with(arm, epochs)
  local _, epoch_cost = best_mode(arm)
  return epochs * epoch_cost + arm.lost / arm.reached
end

local function known_cost(arm) return #arm.epochs > 0 and cost_with(arm, mean(arm.epochs)) or arm.floor end

local function least_known()
  local best = math.huge
  for _, arm in ipairs(arms) do
    if #arm.epochs > 0 then best = math.min(best, known_cost(arm)) end
  end
  return best
end

-- The variance of a run's epochs over their squared mean, as all batch sizes show it together.
local function common_variance()
  local squares, count = DEVIATION_WORTH * DEVIATION ^ 2, DEVIATION_WORTH
  for _, arm in ipairs(arms) do
    local m = mean(arm.epochs)
    for _, e in ipairs(arm.epochs) do squares = squares + (e / m - 1) ^ 2 end
    count = count + math.max(0, #arm.epochs - 1)
  end
  return squares / count
end

-- A cost of a run drawn from what is believed of the arm.
local function drawn_cost(arm, variance)
  local m, shares = mean(arm.epochs), {}
  for i, epochs in ipairs(arm.epochs) do shares[i] = epochs / m end
  local prior = { mean = 1, weight = 0, shape = SHAPE - 0.5, scale = SHAPE * variance }
  local share = posterior.draw(posterior.update(prior, shares))
  return cost_with(arm, math.max(0.1, 1 + TEMPER * (share - 1)) * m)
end

-- Where cost as a function of the batch size is convex in logarithms, the line through the two
-- outermost arms is the least that the next one can cost.
local function promised(arm, edge, inner)
  local at_edge, at_inner = math.log(known_cost(edge)), math.log(known_cost(inner))
  local slope = (at_edge - at_inner) / (math.log(edge.batch) - math.log(inner.batch))
  return PROMISE * math.exp(at_edge - PATIENCE * runs + slope * (math.log(arm.batch) - math.log(edge.batch)))
end

-- The arm of the next run, and where it was never tried the tried one beside it.
local function choose()
  if #arms[first].epochs == 0 and not arms[first].floor then return arms[first] end
  if low == high then -- smaller first: these reach a target more surely
    if low > 1 then return arms[low - 1], arms[low] end
    if high < #arms then return arms[high + 1], arms[high] end
    return best_mode(arms[first]) and arms[first]
  end
  local variance, best, least = common_variance(), nil, math.huge
  for i = low, high do
    if #arms[i].epochs > 0 then
      local cost = drawn_cost(arms[i], variance)
      if cost < least then best, least = arms[i], cost end
    elseif arms[i].put_off and arms[i].floor < least then
      best, least = arms[i], arms[i].floor
    end
  end
  local beside = nil
  for _, edge in ipairs({ low, high }) do
    local out = edge == low and -1 or 1
    local arm = arms[edge + out]
    local cost = arm and promised(arm, arms[edge], arms[edge - out]) or math.huge
    if cost < least then best, least, beside = arm, cost, arms[edge] end
  end
  return best, beside
end

-- What a run of a new arm may cost, by the arm beside it: an epoch's cost is compared at the dearest mode
-- known of both, and epochs fall with a smaller batch size, but hardly rise with a larger one until that is
-- much too large. 0 is not known yet.
local function likely_cost(arm, beside)
  if #beside.epochs == 0 then return 0 end
  local ratio = arm.batch / beside.batch
  for i, cost in ipairs(arm.cost) do
    if cost < math.huge and beside.cost[i] < math.huge then
      return known_cost(beside) * cost / beside.cost[i] * (ratio < 1 and ratio ^ FALL or 1)
    end
  end
  return 0
end

local function is_below(mode, other)
  for _, name in ipairs(knobs.names) do
    if mode[name] > other[name] then return false end
  end
  return true
end

-- Below a mode that is much dearer than one above it, all is dearer still; a lower limit may pay at another clock.
local function leave_out(arm, i)
  local least = math.huge
  for j = 1, i - 1 do
    if is_below(space[i], space[j]) then least = math.min(least, arm.cost[j]) end
  end
  if arm.cost[i] == math.huge or arm.cost[i] <= MUCH_DEARER * least then return end
  for j = i + 1, #space do arm.hopeless[j] = arm.hopeless[j] or is_below(space[j], space[i]) end
end

local function train(arm, i)
  local setting = { train_batch = arm.batch }
  for _, name in ipairs(knobs.names) do setting[name] = space[i][name] end
  local seen = remeasure(setting)
  arm.cost[i] = (seen.ok and seen.power_w <= goal.power_w) and seen.value or math.huge
  if i == arm.next_mode then
    arm.next_mode = i + 1
    leave_out(arm, i)
  end
  return seen
end

-- True where no job is told of: this is a workload that runs on.
local function run_once(arm, beside)
  local spent = 0
  while true do
    local i = mode_of(arm)
    if not i then arm.floor = math.huge return end
    local seen = train(arm, i)
    if seen.ok and seen.job == "none" then return true end
    if seen.ok then
      spent = spent + seen.value
      if seen.job == "reached" then
        arm.epochs[#arm.epochs + 1], arm.reached = seen.epochs, arm.reached + 1
        if #arm.epochs > MOST_RUNS then table.remove(arm.epochs, 1) end
        return
      elseif seen.job ~= "running" then
        arm.put_off, arm.lost = false, arm.lost + spent
        arm.floor = math.max(arm.floor or 0, spent)
        return
      elseif beside and likely_cost(arm, beside) > UNLIKELY * least_known() then
        arm.floor, arm.put_off = likely_cost(arm, beside), true
        return
      end
    end
  end
end

-- Returns where the workload is no job that recurs, or none of its arms keeps the cap. Modes (of many those spread evenly
-- over them) are tried from the dearest down: without a power limit most of several knobs would be over a cap first.
local function serve_job()
  if not batch_sizes.train or (#modes > MOST_MODES and not knobs.power_limit_w) then return end
  if goal.power_w < math.huge and #knobs.names > 1 and not knobs.power_limit_w then return end
  for at = #modes, 0.75, -math.max(1, (#modes - 1) / (MOST_MODES - 1)) do space[#space + 1] = modes[math.floor(at + 0.5)] end
  for i, batch in ipairs(batch_sizes.train) do
    arms[i] = { place = i, batch = batch, cost = {}, next_mode = 1, hopeless = {}, epochs = {}, reached = 0, lost = 0 }
    for j = 1, #space do arms[i].cost[j] = math.huge end
    if batch <= workload.train.batch_size then first = i end
  end
  low, high = first, first
  while true do
    local arm, beside = choose()
    if not arm or run_once(arm, beside) then return end
    runs, low, high = runs + 1, math.min(low, arm.place), math.max(high, arm.place)
  end
end

-- Anything else.

local NOISE <const> = 0.01 -- of a measurement, relative, expected before any repeats
local NOISE_SHAPE <const> = 2 -- what that is worth, in half measurements
local WINDOW <const> = 32 -- measurements of a setting that count, the newest
local MOST_RECALLED <const> = 400 -- answers of before a restart,
local RECALLED_EACH <const> = 8 -- of one setting,
local LOOKED_BACK <const> = 2048 -- among the newest
local FEW_RECALLED <const> = 32 -- leave instructions for a look
local RIVALS <const> = 8 -- measured settings that are drawn: the best on average
local LOOKS <const> = 90 -- for something better: one a measurement, and few after these
local MOST_LOST <const> = 60 -- by looks in vain, in measurements of the best: then few as well
local SHARE <const> = 0.004 -- of the cost of everything, that the few may add
local RARE <const> = 6 -- measurements from one of the few to the next, at least
local BLIND <const> = 0.85 -- of the looks, the share that trusts measurements alone, and not the board's model
-- Times the best: where the board's model expects that, not even these look. Without a cap that model looks
-- in their stead, within one it seldom knows anything to look at, and the next best of these is taken.
local MOST_DEARER <const> = 3
local BESIDE <const> = 0.1 -- the share that goes beside the best
local BESIDE_LATE <const> = 0.7 -- the same once looks are few: there they cost least
local MOST_OVER <const> = 0.1 -- odds to be over the cap that a setting may have to be tried
local UNSCALED <const> = 0.5 -- deviation of power, relative, beyond which nothing tells its scale
local HOPELESS <const> = 0.002 -- odds to keep the goal below which a setting is not worth a measurement
local MOST_VAIN <const> = 8 -- measurements in a row, where none keeps the goal; four that the board would not take count as one
local LEAST_GAIN <const> = 0.005 -- of the value, that a new setting must have in the world drawn
-- A world is drawn wider than the model says where measurements surprise it: by their deviations, root
-- mean square, each of which counts for so many at most; one deviation is worth so many measurements.
local MOST_SURPRISE <const> = 2.5
local TRUST <const> = 4

local measured, by_key = {}, {} -- arms of one setting each, the best on average first
local capped = goal.power_w < math.huge
local most_over = MOST_OVER -- now: twice that whenever no setting is as sure, the least again after one over the cap
local surprises, guesses = TRUST, TRUST -- squared, and how many

local function key_of(setting)
  local parts = {}
  for d, dimension in ipairs(dimensions) do parts[d] = setting[dimension.name] end
  return table.concat(parts, " ")
end

local function learn(answer)
  gp.learn(answer)
  if answer.reason == "over_limit" and answer.limit_w < goal.power_w then return end -- cut by a lower cap
  local key = key_of(answer.setting)
  local arm = by_key[key]
  if not arm then
    arm = { setting = answer.setting, logs = {} }
    by_key[key], measured[#measured + 1] = arm, arm
  end
  if answer.within and answer.value > 0 then
    if #arm.logs == WINDOW then table.remove(arm.logs, 1) end
    arm.logs[#arm.logs + 1] = math.log(answer.value)
    arm.mean = mean(arm.logs)
  else
    arm.mean = math.huge -- over the cap once is once too often
  end
end

-- The measured setting that is best by values drawn from what is believed of each, and that value.
local function drawn_arm()
  local best, least = nil, math.huge
  for i = 1, math.min(RIVALS, #measured) do
    if measured[i].mean == math.huge then break end
    local prior = { mean = 0, weight = 0, shape = NOISE_SHAPE, scale = NOISE_SHAPE * NOISE ^ 2 }
    local log = posterior.draw(posterior.update(prior, measured[i].logs))
    if log < least then best, least = measured[i], log end
  end
  return best, math.exp(least)
end

-- What to measure where nothing is known to keep the goal: at the very first every knob at its highest
-- value, where no cap is set, and within one the safe setting, where nothing else tells the scale of power;
-- else what is most surely within it.
local function careful()
  if capped or #measured > 0 then
    local probe = gp.next { power_odds = 1 - MOST_OVER, safest = HOPELESS }
    local sure = probe and (probe.power_deviation <= UNSCALED or probe.power_odds >= 1 - HOPELESS)
    if #measured == 0 and not sure then return safe end
    return probe and probe.setting
  end
  local setting = {}
  for _, dimension in ipairs(dimensions) do setting[dimension.name] = dimension.values[#dimension.values] end
  return setting
end

-- A setting with one knob elsewhere in half its range, rather near than far, lower where there is a
-- cap: one that was never measured, or else one that was.
local function beside(setting)
  local again = nil
  for _ = 1, #dimensions > 0 and 10 or 0 do
    local dimension = dimensions[math.random(#dimensions)]
    local at = 1
    for i, value in ipairs(dimension.values) do
      if value == setting[dimension.name] then at = i end
    end
    local far = math.random(math.random(math.max(1, #dimension.values // 2)))
    local to = dimension.values[(capped or math.random() < 0.5) and at - far or at + far]
    if to then
      local other = {}
      for _, one in ipairs(dimensions) do other[one.name] = setting[one.name] end
      other[dimension.name] = to
      local seen = by_key[key_of(other)]
      if not seen then return other end
      if seen.mean < math.huge then again = other end
    end
  end
  return again
end

-- A new setting that may be better than the arm, whose value was drawn; and what was believed of it.
local function look(arm, value, few)
  local kind = math.random()
  local other = kind < (few and BESIDE_LATE or BESIDE) and beside(arm.setting)
  if other then return other end
  local drawn = #measured > 1 and kind < (few and 1 or BESIDE + BLIND)
    and gp.draw_smooth { over_odds = most_over, expected = capped and MOST_DEARER * value or nil }
  if drawn and drawn.expected <= MOST_DEARER * value then return drawn.setting, drawn end
  drawn = gp.draw { over_odds = most_over, temper = math.max(1, math.sqrt(surprises / guesses)) }
  if drawn and drawn.value < value * (1 - LEAST_GAIN) then return drawn.setting, drawn end
  if not drawn then most_over = math.min(1 - HOPELESS, 2 * most_over) end
  return nil
end

local function compare(answer, guess)
  local surprise = math.abs(math.log(answer.value / guess.expected)) / guess.deviation
  surprises = surprises + math.min(surprise, MOST_SURPRISE) ^ 2
  guesses = guesses + 1
end

-- What is known from before a restart. Most answers are repeats of what was held, and what else was
-- measured must not be forgotten for them.
local function recall()
  local recalled, repeats = {}, {}
  for i = #observations, math.max(1, #observations - LOOKED_BACK + 1), -1 do
    if #recalled == MOST_RECALLED then break end
    local key = key_of(observations[i].setting)
    repeats[key] = (repeats[key] or 0) + 1
    if repeats[key] <= RECALLED_EACH then recalled[#recalled + 1] = i end
  end
  for i = #recalled, 1, -1 do learn(observations[recalled[i]]) end
  return #recalled
end

local function search_settings()
  -- Recalling much costs instructions that a look needs as well: then the first measurement is of the best known.
  local rests = recall() > FEW_RECALLED
  local looks, waited, pause, lost = 0, 0, 1, 0 -- `pause`: measurements from one look to the next
  local few, vain = false, 0 -- `vain`: measurements in a row while nothing known keeps the goal
  while true do
    table.sort(measured, function(one, other) return one.mean < other.mean end)
    local arm, value = drawn_arm()
    local setting, guess, looked = nil, nil, false
    waited = waited + 1
    if arm and waited >= pause and not rests then
      looks, waited = looks + 1, 0
      setting, guess = look(arm, value, few)
      looked = setting ~= nil
    end
    vain = arm and 0 or vain + 1
    if not arm then setting = vain <= MOST_VAIN and careful() or nil end
    setting = setting or (arm and (rests and measured[1] or arm).setting)
    if not setting then
      log("nothing measured keeps the goal")
      return nil
    end
    local answer = remeasure(setting)
    rests = false
    learn(answer)
    if answer.reason == "refused" or answer.reason == "not_applied" then vain = vain - 0.75 end
    if guess and answer.within then compare(answer, guess) end
    if answer.reason == "over_limit" then most_over = MOST_OVER end
    if looked then
      local excess = answer.within and answer.value / value - 1 or 1
      lost = excess > 0 and lost + excess or 0
      few = looks >= LOOKS or lost >= MOST_LOST
      pause = few and math.max(RARE, excess / SHARE) or 1
    end
  end
end

if goal.objective == "target" then serve_job() end
return search_settings()
