-- Fits the board's cost model to a few measured settings, and then verifies its best predictions from
-- the cap downwards. What is held is the best setting that was measured to keep the goal.
--
-- 1. Learn. Measure the settings that tell most of what the model does not know of the workload, among
--    those that are sure to stay below the cap; the first by what other workloads (`prior`) were like.
-- 2. Verify. Measure the best setting that is predicted to keep the goal, and fit again, until no
--    prediction beats what was measured: at last those a deviation of their power above the cap. A
--    setting that is over it is cut short by the guard, and the next predictions draw more.
-- 3. Where nothing measured keeps the goal, the predictions mislead: the safe setting is measured, and then the
--    list of modes is halved, as on a board without a model; but where that one is over the cap, only smaller
--    batches are tried.
--
-- The fit is robust: a setting that was not applied stands apart from all others, and counts little.

assert(goal.objective ~= "throughput" or not (workload.train and workload.infer),
  "searches for one workload, not for training beside inference: bayes, gradient, binary_search and ogd do")

local learn, verify = 4, 6 -- measurements
if #dimensions > 4 then learn = 6 end -- with the batch size
local sure = 2 -- standard deviations of power below the cap while it learns
local bold = { 0, -0.5, -1 } -- the same in verifying, one after another: at last a deviation above it
local most_recalled = 48 -- answers of before; a fit takes 64
local most_predicted, spare = 24576, 1200000 -- settings, and instructions that a prior leaves
local roomy = 0.95 -- of the cap: above it a larger batch would be over it
local least_gain = 0.002 -- of the value; less is not worth a measurement
local most_passed = 4000 -- modes on the way to one that may work: more take too many instructions
local most_failed, failures = 30, 0 -- settings that the board does not take, which cost no measurement

local best, margin_w = nil, 0
local shy_time = 0 -- deviations: what was predicted to be in time and was late is slower than that
local shy_w = 0 -- what was cut so close to the cap can be told from what fits only further below it
local least_shy = 0.01 -- of the cap: by so much it grows with each cut, where half a noise margin is less, or none

-- The best answer that keeps the goal is kept, and what tells power from the cap.
local function consider(answer)
  if answer.ok then margin_w = math.max(margin_w, answer.power_margin_w) end
  if answer.within and (not best or answer.value < best.value) then best = answer end
end

local function ask(setting)
  local answer = measure(setting)
  consider(answer)
  if answer.failed then failures = failures + 1 end
  if answer.reason == "over_limit" then shy_w = shy_w + math.max(margin_w / 2, least_shy * goal.power_w) end
  return answer
end

-- The batch sizes in the order in which they are tried without a model: of requests that come at a known rate
-- the smallest first of those that can be full in time (one by one: half full in 0.9 of it); else the one in
-- force and then smaller ones, which draw less. With the field's name, and the sizes that may be tried in the
-- best mode, smallest first.
local function batches()
  local last = dimensions[#dimensions]
  if not last or knobs[last.name] then return { 0 }, nil, {} end
  local order, sizes = {}, last.values
  local in_force = (last.name == "infer_batch" and workload.infer or workload.train).batch_size
  if last.name == "infer_batch" and goal.arrivals_per_s > 0 then
    for i, size in ipairs(sizes) do
      local full_ms = 1000 * size / goal.arrivals_per_s * (goal.one_by_one and 0.5 / 0.9 or 1)
      if i == 1 or full_ms < goal.latency_ms then order[i] = size end
    end
    sizes = order
  else
    for i = #sizes, 1, -1 do
      if sizes[i] <= in_force then order[#order + 1] = sizes[i] end
    end
  end
  return order, last.name, sizes
end

-- It keeps the cap, but requests are late: a faster mode may serve them.
local function too_slow(answer)
  local cheap = answer.power_w + answer.power_margin_w <= goal.power_w and answer.energy_j <= goal.energy_j
  return answer.reason == "late" or answer.ok and cheap and not answer.within
end

-- What the board takes of a knob: up to in_force[name], as it did, and up to most[name], as far as is known.
local in_force, most = {}, {}
for _, name in ipairs(knobs.names) do in_force[name], most[name] = safe[name], math.huge end

local function may_work(setting)
  for name, value in pairs(most) do if setting[name] > value then return false end end
  return true
end

local function try_mode(setting)
  local answer = ask(setting)
  for name, value in pairs(answer.failed and {} or in_force) do in_force[name] = math.max(value, setting[name]) end
  return answer
end

-- Where a setting failed for one knob alone, that goes no further than below it, and the second time than it did.
local function blame(setting)
  for _, name in ipairs(knobs.names) do
    local other = {}
    for field, value in pairs(setting) do other[field] = value end
    other[name] = in_force[name]
    if setting[name] > in_force[name] and not try_mode(other).failed then
      most[name] = most[name] < math.huge and in_force[name] or setting[name] - 1e-6
      return
    end
  end
end

-- The answer of the mode, and its number, or where that fails of the nearest one that does not, between the two.
local function ask_near(middle, low, high, batch_name, batch)
  local answer
  for away = 0, failures < most_failed and math.min(most_passed, 2 * (high - low)) or 0 do
    local number = middle + (away % 2 == 0 and -1 or 1) * ((away + 1) // 2)
    local setting = number >= low and number <= high and modes[number]
    if setting and may_work(setting) then
      if batch_name then setting[batch_name] = batch end
      answer = try_mode(setting)
      if not answer.failed then return answer, number end
      if failures >= most_failed then break end
      blame(setting)
    end
  end
  local setting = modes[middle]
  if batch_name then setting[batch_name] = batch end
  return answer or ask(setting), middle
end

-- A mode that keeps the goal and is no better than one half way down to `low`: less than the highest may be best, but
-- of time.
local function is_past_best(answer, at, low, batch_name, batch)
  local saves = goal.objective == "energy" or goal.objective == "weighted" or goal.objective == "target"
  if not saves or not answer.within or low >= at then return false end
  local lower = ask_near((low + at - 1) // 2, low, at - 1, batch_name, batch)
  return lower.within and lower.value < answer.value
end

local function chosen()
  if not best then
    log("nothing measured keeps the goal")
    return nil
  end
  log(string.format("chose %.4g %s at %.1f W", best.value, ({ energy = "J a sample", latency = "s of latency",
    weighted = "of the reference's cost", target = "J a sample (time has a price)" })[goal.objective] or "s a sample",
    best.power_w))
  return best.setting
end

-- Without a model: the fastest modes have the highest power, as far as the board's order goes. Where no mode
-- keeps the goal with one batch size, the next one begins where the cap was: of requests it is larger, and no
-- mode above that will do. At last larger batches are tried in the best mode, if it leaves room below the cap.
local function bisect(why, lowest)
  local order, name, sizes = batches()
  local high, middle = #modes, (1 + #modes) // 2
  -- Over the cap in the lowest mode: only smaller batches may fit, and where they were to come after this one, in
  -- no mode above it.
  if lowest and lowest.reason == "over_limit" then
    local tried = name and lowest.setting[name] or 0
    if order[1] == tried then high, middle = 1, 1 end
    for i = #order, 1, -1 do
      if order[i] >= tried then table.remove(order, i) end
    end
  end
  if #order > 0 then log(why .. ": the list of modes is halved instead") end
  for _, batch in ipairs(order) do
    local low = 1
    while low <= high do
      local answer, at = ask_near(middle, low, high, name, batch)
      local goes_up = (answer.within or too_slow(answer)) and not is_past_best(answer, at, low, name, batch)
      if goes_up then low = at + 1 else high = at - 1 end
      middle = (low + high) // 2
    end
    if best then break end
    high = math.max(1, high)
    middle = high
  end
  for i = 1, best and goal.objective ~= "latency" and #sizes or 0 do
    if sizes[i] > best.setting[name] and best.power_w + margin_w <= roomy * goal.power_w then
      local setting, before = {}, best
      for field, value in pairs(best.setting) do setting[field] = value end
      setting[name] = sizes[i]
      ask(setting)
      if best == before then break end
    end
  end
  -- What was measured before, as the reference of a weighted cost is, may be better still.
  for _, i in ipairs(recall(most_recalled)) do consider(observations[i]) end
  return chosen()
end

if not roofline.known then
  return bisect("no model of this board is known")
end

local model, surface, expected
-- What the model is fitted to: what was recalled, and what is measured.
local rows = {}

-- What is predicted now of the settings that were not tried: once for what is known, since nothing else moves it
-- and two predictions would take the instructions that there are.
local predicted
local function predict()
  if predicted == #rows then return end
  predicted = #rows
  model = roofline.fit(rows, expected)
  surface = roofline.surface(model)
  surface:exclude_known()
  if failures > 0 then surface:exclude_unlikely() end
end

-- The setting with the best prediction, if it beats what was measured.
local function promising()
  for i = 1, #bold do
    local setting, prediction = surface:best({
      power_w = math.max(goal.power_w - margin_w - shy_w, goal.power_w / 2),
      deviations = bold[i],
      time_deviations = shy_time + (not best and bold[i] or 0),
    })
    if setting and (not best or prediction.value < best.value * (1 - least_gain)) then return setting end
  end
end

-- Whether it counts as a measurement.
local function try(setting)
  local answer = ask(setting)
  rows[#rows + 1] = answer
  return not answer.failed or failures > most_failed
end

local told = 0 -- answers of before that the model can be fitted to
for _, i in ipairs(recall(most_recalled)) do
  local answer = observations[i]
  rows[#rows + 1] = answer
  consider(answer)
  if answer.ok or answer.reason == "over_limit" then told = told + 1 end
end

-- What other workloads were like takes a third of the instructions that the first decision has, and answers
-- of before say more: on large boards it is left out for them.
local count = 1
for _, dimension in ipairs(dimensions) do count = math.min(most_predicted, count * #dimension.values) end
local looks = told < learn and 1 or #bold
local fit_cost = (#rows > 24 and 6000 or 13000) * #rows
if (40 + 4 * looks) * count + fit_cost < spare then expected = roofline.prior() end

while told < learn do
  predict()
  local setting = surface:least_known({ power_w = goal.power_w, deviations = sure })
  if not setting then
    if #rows > 0 then break end
    setting = safe -- nothing is sure to be below the cap, and the lowest mode is the nearest to that
  end
  if try(setting) then told = told + 1 end
end

local verified = 0
while verified < verify do
  predict()
  local setting = promising()
  if not setting then break end
  if try(setting) then verified = verified + 1 end
  if rows[#rows].reason == "late" then shy_time = shy_time + 1 end
end

local lowest = not best and ask(safe) -- what would be held
if not best then
  return bisect("nothing that was predicted keeps the goal", lowest)
end
log(string.format("fitted to %d measurements: %.1f %% off in time and %.1f %% in power, %d doubted",
  model.rows, 100 * model.time_error, 100 * model.power_error, model.doubted))
return chosen()
