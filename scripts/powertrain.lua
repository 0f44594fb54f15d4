-- PowerTrain, verified: networks that were trained on another workload are taken over with a few modes
-- that cover the space, and their best predictions are measured, from the cap downwards. What is held
-- is the best setting that was measured to keep the goal.
--
-- The method is "PowerTrain" (doi:10.1016/j.future.2024.07.001), which looks the cap up in the predicted
-- Pareto front and trusts what it says. Ours are three things: modes are chosen to cover the space below
-- the cap, by the power that the board's model predicts where there is one, not at random; what a
-- measurement rules out is not tried; and nothing is held that was not measured.

assert(goal.objective ~= "throughput" or not (workload.train and workload.infer),
  "searches for one workload, not for training beside inference: bayes, gradient, binary_search and ogd do")

local objection = predict.objection()
if objection then error(objection .. "; bayes and gradient need no reference") end

local cover, verify = 6, 9 -- measurements to learn from, and of predictions
local most_recalled = 64 -- answers of before: networks learn from 64
-- At modes, for what is known to rule them out before the first prediction is measured; and modes each of which
-- can be looked at after a measurement. Where they are more, predictions that are ruled out are passed over, as
-- many as predicting all modes, or looking at them, leaves instructions for.
local most_looks, most_modes = 9000, 15500
local surveyed = math.min(#modes, 24576) -- that a surface has
local most_skipped = (1800000 - (#modes <= most_modes and math.max(100 * #modes, 900000 + 40 * #modes)
  or 500000 + 40 * surveyed)) // (4 * surveyed + 2000)
local candidates = 300 -- looked at for each mode that covers
local step_down = 0.98 -- after a mode over the cap, predictions below this part of its own come next

local best, margin_w, measured, answers, counted = nil, 0, 0, {}, {}

local function keep(answer)
  if answer.ok then
    margin_w = math.max(margin_w, answer.power_margin_w)
    local key = {}
    for d = 1, #dimensions do key[d] = answer.setting[dimensions[d].name] end
    key = table.concat(key, " ")
    if not counted[key] then measured = measured + 1 end
    counted[key] = true
  end
  if answer.within and (not best or answer.value < best.value) then best = answer end
  answers[#answers + 1] = answer
  return answer
end

for _, i in ipairs(recall(most_recalled)) do keep(observations[i]) end

local expected = roofline.known and roofline.prior() or nil
local point = 0
local ratio = 1.5 -- becomes the root of x^(n+1) = x + 1
for _ = 1, 30 do ratio = (1 + ratio) ^ (1 / (#dimensions + 1)) end

-- How many values of each dimension are expected below the cap with all others at their lowest: the
-- space to cover. A knob that draws much has few of them, and they count as much as the many of others.
local function reach_of(model)
  local reach, setting = {}, {}
  for d = 1, #dimensions do setting[dimensions[d].name] = dimensions[d].values[1] end
  for d = 1, #dimensions do
    local name, values = dimensions[d].name, dimensions[d].values
    reach[d] = #values
    while model and reach[d] > 2 do
      setting[name] = values[reach[d]]
      if roofline.predict(model, setting).power_w <= goal.power_w then break end
      reach[d] = reach[d] - 1
    end
    setting[name] = values[1]
  end
  return reach
end

-- The next point of a sequence that fills a cube evenly (Roberts' R), as a setting and as indexes.
local function sequence_setting(reach)
  point = point + 1
  local setting, place = {}, {}
  for d = 1, #dimensions do
    place[d] = 1 + math.floor((0.5 + point / ratio ^ d) % 1 * reach[d])
    setting[dimensions[d].name] = dimensions[d].values[place[d]]
  end
  return setting, place
end

local covered = { {} } -- the lowest mode is measured too
for d = 1, #dimensions do covered[1][d] = 1 end

local function distance_to_covered(place, reach)
  local least = math.huge
  for i = 1, #covered do
    local sum = 0
    for d = 1, #place do sum = sum + ((place[d] - covered[i][d]) / reach[d]) ^ 2 end
    least = math.min(least, sum)
  end
  return least
end

-- Of those that are expected below the cap the one farthest from all that were measured.
local function next_mode()
  local model = roofline.known and roofline.fit(nil, expected)
  local reach = reach_of(model)
  local farthest, farthest_place, most = nil, nil, 0
  for _ = 1, candidates do
    local setting, place = sequence_setting(reach)
    if not model or roofline.predict(model, setting).power_w <= goal.power_w then
      local distance = distance_to_covered(place, reach)
      if distance > most then farthest, farthest_place, most = setting, place, distance end
    end
  end
  covered[#covered + 1] = farthest_place
  return farthest
end

local tries = 0
while measured < cover - 1 and tries < cover - 1 do
  tries = tries + 1
  local setting = next_mode()
  if not setting then break end
  keep(measure(setting))
end
-- The lowest mode last: it has to be in force while the networks are trained.
local lowest = keep(remeasure(safe))

-- Of an answer: a sign, and bounds of all knobs. Modes that are at least as high in each, times the sign, are
-- ruled out: none with all knobs at least as high as one over the cap keeps it, and none with all at most as high
-- as one that keeps the goal is faster.
local function rule_of(answer)
  if #dimensions > #knobs.names then return nil end
  local over
  if answer.ok then
    over = answer.power_w > goal.power_w
  else
    over = answer.reason == "over_limit" and answer.limit_w >= goal.power_w
  end
  local faster = answer.within and (goal.objective == "time" or goal.objective == "latency")
  if not over and not faster then return nil end
  local rule = { sign = over and 1 or -1 }
  for k, name in ipairs(knobs.names) do rule[k] = rule.sign * answer.setting[name] end
  return rule
end

local function breaks(mode, rule)
  for k, name in ipairs(knobs.names) do
    if rule.sign * mode[name] < rule[k] then return false end
  end
  return true
end

local rules = {} -- those for which not all modes were looked at

local function next_best(surface, limit_w)
  for skipped = 0, most_skipped do
    local setting, prediction = surface:best({ power_w = limit_w })
    if not setting then return nil end
    surface:exclude(setting)
    local broken = false
    for _, rule in ipairs(rules) do broken = broken or breaks(setting, rule) end
    if not broken or skipped == most_skipped then return setting, prediction end
  end
end

local function rule_out(surface, answer, at_once)
  local rule = rule_of(answer)
  if not rule then return end
  if not at_once then
    rules[#rules + 1] = rule
    return
  end
  for i = 1, #modes do
    local mode = modes[i]
    if breaks(mode, rule) then surface:exclude(mode) end
  end
end

-- Where it is too slow to end a minibatch, it is in force all the same.
if (lowest.ok or lowest.reason == "stalled") and measured >= 3 then
  local surface = predict.transfer()
  surface:exclude_known()
  for i = 1, #answers - 1 do -- the lowest rules nothing out
    rule_out(surface, answers[i], i >= #answers - most_looks // #modes)
  end
  local limit_w = goal.power_w - margin_w
  for _ = 1, verify do
    local setting, prediction = next_best(surface, limit_w)
    if not setting then break end
    local answer = keep(measure(setting))
    rule_out(surface, answer, #modes <= most_modes)
    if answer.within then -- what it draws near the cap tells how far off the networks are there
      limit_w = (goal.power_w - margin_w) * prediction.power_w / answer.power_w
    else
      limit_w = math.min(limit_w, prediction.power_w * step_down)
    end
  end
end

if not best then
  log("nothing measured keeps the goal")
  return nil
end
log(string.format("best of %d measured: %.1f W", #answers, best.power_w))
return best.setting
