-- Thompson sampling for a training job that recurs: which batch size and which power limit reach the
-- target at the least cost. A run's cost is the epochs it takes, which depend on the batch size and
-- on chance, times the cost of an epoch, which hardly varies; so what is drawn is each batch size's
-- mean number of epochs, from a normal-inverse-gamma belief, and the power limits are measured an
-- epoch each while runs go on. docs/policies.md has the sources, and what the constants are.

local DEVIATION <const> = 0.1 -- of a run's epochs about their mean, expected before any repeats
local DEVIATION_WORTH <const> = 4 -- what that is worth, in runs
local SHAPE <const> = 10 -- how like each other batch sizes are taken to be in that, in half runs
local MUCH_DEARER <const> = 1.1 -- a limit at which to look at no lower one
local UNLIKELY <const> = 1.1 -- times the least cost known, where a new batch size is put off
local PROMISE <const> = 0.8 -- of the extrapolated cost: how convex costs are trusted to be
local PATIENCE <const> = 0.005 -- how much less that is, as a share, with every run
local TEMPER <const> = 0.5 -- of a draw's distance from the mean: 1 is Thompson sampling, 0 greed
local FALL <const> = 0.5 -- exponent by which epochs fall with the batch size below

local batches = batch_sizes.train
local space = {} -- settings without a batch size, dearest limit first
for i = #modes, 1, -1 do space[#space + 1] = modes[i] end

-- One arm a batch size: `cost[i]` of an epoch in space[i], `epochs` of every run that reached the
-- target, `floor` the least that a run costs by what is known, until one reached it.
local arms = {}
for i, batch in ipairs(batches) do
  arms[i] = { batch = batch, cost = {}, next_limit = 1, epochs = {}, floor = nil }
end

local runs = 0 -- of the job so far

local function mean(values)
  local sum = 0
  for _, value in ipairs(values) do sum = sum + value end
  return sum / #values
end

-- What an epoch costs in the best of the limits measured.
local function epoch_cost(arm)
  local best = math.huge
  for i = 1, #space do
    if arm.cost[i] and arm.cost[i] < best then best = arm.cost[i] end
  end
  return best
end

local function best_limit(arm)
  local best = nil
  for i = 1, #space do
    if arm.cost[i] and arm.cost[i] < math.huge and (not best or arm.cost[i] < arm.cost[best]) then
      best = i
    end
  end
  return best
end

-- The next limit to measure, downwards until one costs much more than the best; then the best.
local function limit_of(arm)
  local i = arm.next_limit
  if i <= #space then
    local last = arm.cost[i - 1] or 0
    if last == math.huge or last <= MUCH_DEARER * epoch_cost(arm) then return i end
  end
  arm.next_limit = #space + 1
  return best_limit(arm)
end

local function known_cost(arm)
  return #arm.epochs > 0 and mean(arm.epochs) * epoch_cost(arm) or arm.floor
end

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
    if #arm.epochs > 1 then
      local m = mean(arm.epochs)
      for _, e in ipairs(arm.epochs) do squares = squares + (e / m - 1) ^ 2 end
      count = count + #arm.epochs - 1
    end
  end
  return squares / count
end

-- A cost of a run drawn from what is believed of the arm.
local function drawn_cost(arm, variance)
  local m = mean(arm.epochs)
  local shares = {}
  for i = math.max(1, #arm.epochs - 255), #arm.epochs do shares[#shares + 1] = arm.epochs[i] / m end
  local prior = { mean = 1, weight = 0, shape = SHAPE - 0.5, scale = SHAPE * variance }
  local share = posterior.draw(posterior.update(prior, shares))
  return math.max(0.1, 1 + TEMPER * (share - 1)) * m * epoch_cost(arm)
end

-- Where cost as a function of the batch size is convex in logarithms, the line through the two
-- outermost arms is the least that the next one can cost.
local function promised(arm, edge, inner)
  local at_edge, at_inner = math.log(known_cost(edge)), math.log(known_cost(inner))
  local slope = (at_edge - at_inner) / (math.log(edge.batch) - math.log(inner.batch))
  return PROMISE * math.exp(at_edge - PATIENCE * runs + slope * (math.log(arm.batch) - math.log(edge.batch)))
end

local first = 1
for i, batch in ipairs(batches) do
  if batch <= workload.train.batch_size then first = i end
end
local low, high = first, first -- the arms that were tried

-- The arm of the next run, and where it was never tried the tried one beside it.
local function choose()
  if #arms[first].epochs == 0 and not arms[first].floor then return arms[first] end
  if low == high then -- smaller first: these reach a target more surely
    if low > 1 then return arms[low - 1], arms[low] end
    if high < #arms then return arms[high + 1], arms[high] end
    return arms[first]
  end
  local variance = common_variance()
  local best, least = nil, math.huge
  for i = low, high do
    if #arms[i].epochs > 0 then
      local cost = drawn_cost(arms[i], variance)
      if cost < least then best, least = arms[i], cost end
    elseif arms[i].put_off and arms[i].floor < least then
      best, least = arms[i], arms[i].floor
    end
  end
  local beside = nil
  if low > 1 then
    local cost = promised(arms[low - 1], arms[low], arms[low + 1])
    if cost < least then best, least, beside = arms[low - 1], cost, arms[low] end
  end
  if high < #arms then
    local cost = promised(arms[high + 1], arms[high], arms[high - 1])
    if cost < least then best, least, beside = arms[high + 1], cost, arms[high] end
  end
  return best, beside
end

-- What a run of a new arm may cost, by the arm beside it: an epoch's cost is compared at the highest
-- limit, where both were measured, and epochs fall with a smaller batch size, but hardly rise with a
-- larger one until that is much too large.
local function likely_cost(arm, beside)
  if #beside.epochs == 0 then return 0 end
  local ratio = arm.batch / beside.batch
  return known_cost(beside) * arm.cost[1] / beside.cost[1] * (ratio < 1 and ratio ^ FALL or 1)
end

local function train(arm, i)
  local setting = { train_batch = arm.batch }
  for _, name in ipairs(knobs.names) do setting[name] = space[i][name] end
  local seen = remeasure(setting)
  arm.cost[i] = (seen.ok and seen.power_w <= goal.power_w) and seen.value or math.huge
  if i == arm.next_limit then arm.next_limit = i + 1 end
  return seen
end

local function run_once(arm, beside)
  local spent = 0
  while true do
    local i = limit_of(arm)
    if not i then
      arm.floor = math.huge
      return
    end
    local seen = train(arm, i)
    if seen.ok then
      spent = spent + seen.value
      if seen.job == "reached" then
        arm.epochs[#arm.epochs + 1] = seen.epochs
        return
      elseif seen.job ~= "running" then
        arm.put_off = false
        arm.floor = math.max(arm.floor or 0, spent)
        return
      end
      if beside and likely_cost(arm, beside) > UNLIKELY * least_known() then
        arm.floor, arm.put_off = likely_cost(arm, beside), true
        return
      end
    end
  end
end

while true do
  local arm, beside = choose()
  run_once(arm, beside)
  runs = runs + 1
  for i, one in ipairs(arms) do
    if one == arm then low, high = math.min(low, i), math.max(high, i) end
  end
end
