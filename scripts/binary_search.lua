-- Multi-dimensional binary search over every knob and the batch size: about log2(N) measurements for N settings, and
-- a choice that was measured to keep the goal. docs/policies.md has the source.
--
-- 1. Halve. Measure the middle of the ranges that are left. Within the cap, the lower half of one range goes; over
--    it, the upper half; ranges take turns until each has one value left. Where the first three are all over it,
--    every range loses its upper half until one is not.
-- 2. Refine. Halving cannot trade one knob against another. Two models of what was measured can, by weights of 0 up:
--      time  = sum over resources of (w + v * batch) / knob   each is waited for in turn
--      power = e0 + sum of e * knob + k * batch / time        clocks cost, and so does the work done
--    Their best setting within the goal is measured next, and joins the fit, until they promise nothing better.
--
-- Of requests at a known rate halving keeps to the smallest batch, refining goes up where models say it is late, and
-- what was only just late is tried again; beside training halving begins with the largest that is full in time. Under
-- a new goal `observations` replace the halving, unless they and the models' one try are all over the cap.

local kind = workload.train and goal.objective ~= "latency" and "train" or "infer"
local energy, rate = goal.objective == "energy", kind == "infer" and goal.arrivals_per_s or 0
local slowest = 6 -- times the center: measuring what is slower still would take minutes
local likeness, optimism, step_cost, leap_cost, step_margin = 1, 0.01, 0.01, 0.03, 0.01
local enough_over, enough_late = 3, 2 -- settings over the cap or late, and no other: all ranges lose a half
local challenges, just_late = 3, 0.3 -- tries at a batch that was late by e^just_late at most
local unmeasured_batch = 0.5 -- of its predicted lateness: models know least of a batch never tried
local pull = 0.1 -- towards what is expected before anything is measured
local most_recalled = 160 -- answers of before: fits take 256 rows, and time for each
local growth = 1.5 -- of the margin to the cap with each setting that turns out over it
local most_refused = 30 -- settings, which cost no measurement
local most_looked, looked = 20000, 0 -- at settings since the newest measurement: more take too many instructions

local function most_ms(batch) return rate > 0 and goal.most_ms(batch) or math.huge end -- a minibatch may take

-- The knobs: names[d] is a field of a setting, values[d] what it may be, lowest first. The batch size comes last where
-- there is a choice, less what is never in time. The board takes all up to in_force[d], and may up to most[d].
local names, values, combinations, batch_at = {}, {}, 1, nil
local in_force, most, refused = {}, {}, 0
for d, dimension in ipairs(dimensions) do
  names[d], values[d], in_force[d] = dimension.name, {}, 1
  for _, value in ipairs(dimension.values) do
    if dimension.name ~= "infer_batch" or goal.most_ms(value) > 0 then table.insert(values[d], value) end
    if value == safe[dimension.name] then in_force[d] = #values[d] end
  end
  most[d] = #values[d]
  if dimension.name == kind .. "_batch" then batch_at = d end
  combinations = combinations * #values[d]
end
local count, knob_count = #names, batch_at and #names - 1 or #names
local beside = kind == "train" and names[count] == "infer_batch" -- requests, whose batch is the last knob
if batch_sizes.infer and goal.most_ms(batch_sizes.infer[1]) <= 0 then
  return log("no batch size is full in time: the rate is too low, or the latency limit")
end

-- What is known: complete answers, settings cut short for their power, and those cut short for late requests.
local points, failures, lates, seen, measurements_left = {}, {}, {}, {}, 0

-- A setting is held as one position a dimension.
local function setting_at(positions)
  local setting = {}
  for d = 1, count do setting[names[d]] = values[d][positions[d]] end
  return setting
end

local function positions_of(setting)
  local positions = {}
  for d = 1, count do
    for i, value in ipairs(values[d]) do if value == setting[names[d]] then positions[d] = i end end
    if not positions[d] then return nil end
  end
  return positions
end

local function learn(positions, answer)
  local key = table.concat(positions, " ")
  for d = 1, answer.failed and 0 or count do in_force[d] = math.max(in_force[d], positions[d]) end
  if seen[key] then return end
  seen[key] = answer.reason ~= "late" or known(answer.setting) -- or late at a higher rate than now
  local point = { positions = positions, value = {}, within = answer.within }
  for d = 1, count do point.value[d] = values[d][positions[d]] end
  point.batch = batch_at and point.value[batch_at] or workload[kind].batch_size
  if answer.ok and answer.minibatch_ms < math.huge then -- else requests left no time to train
    point.time, point.cost = answer.minibatch_ms, answer.value
    point.power = answer.power_w + answer.power_margin_w
    -- How far it is from keeping the goal: the log of the factors that miss.
    point.miss = math.max(0, math.log(point.power / goal.power_w))
      + math.max(0, math.log(point.time / most_ms(point.batch)))
    points[#points + 1] = point
  elseif answer.reason == "over_limit" then
    failures[#failures + 1] = point
  elseif kind == "infer" and answer.reason == "late" and answer.slower_than_ms > 0 then
    point.time, lates[#lates + 1] = answer.slower_than_ms, point
  end
end

local function is_new(positions) -- what was not recalled is answered from memory: that gives no instructions
  return not seen[table.concat(positions, " ")] and not known(setting_at(positions))
end

local function ask(positions)
  local answer = measure(setting_at(positions))
  looked = 0
  local free = answer.failed and refused < most_refused
  if free then refused = refused + 1 end
  if not free and not seen[table.concat(positions, " ")] then measurements_left = measurements_left - 1 end
  learn(positions, answer)
  return answer
end

-- Whether a setting failed for one knob alone: that goes no further than below it, and the second time than it did.
local function blame(positions)
  for d = 1, count do
    local other = { table.unpack(positions) }
    other[d] = in_force[d]
    if positions[d] > in_force[d] and not ask(other).failed then
      most[d] = most[d] < #values[d] and in_force[d] or positions[d] - 1
      return true
    end
  end
  return false
end

local function least_of(cost, wanted) -- the point, of all or of those that are wanted; nil where none is
  local best
  for _, point in ipairs(points) do
    if (not wanted or wanted(point)) and (not best or point[cost] < best[cost]) then best = point end
  end
  return best
end

local function none_within_cap() return not least_of("power", function(one) return one.power <= goal.power_w end) end
local function best_point() return least_of("cost", function(one) return one.within end) end

local function halve(smallest)
  local low, high, turn, over = {}, {}, 0, 0
  for d = 1, count do low[d], high[d] = 1, #values[d] end
  if batch_at and rate > 0 then low[batch_at], high[batch_at] = smallest or 1, smallest or 1 end
  if beside and not goal.one_by_one then low[count] = high[count] end
  while true do
    local middle, open = {}, {}
    for d = 1, count do
      low[d], high[d] = math.min(most[d], low[d]), math.min(most[d], high[d])
      middle[d] = (low[d] + high[d] + 1) // 2
      if low[d] < high[d] then open[#open + 1] = d end
    end
    local answer = ask(middle)
    if not (answer.failed and blame(middle)) then
      if #open == 0 then return end
      local d = open[turn % #open + 1]
      turn = turn + 1
      if answer.reason == "late" or answer.ok and answer.power_w + answer.power_margin_w <= goal.power_w then
        local ranges = #points == 0 and #lates >= enough_late and open or { d }
        for _, one in ipairs(ranges) do low[one] = math.min(middle[one] + 1, high[one]) end
      else
        over = over + 1
        local ranges = none_within_cap() and over >= enough_over and open or { d }
        for _, one in ipairs(ranges) do high[one] = math.min(middle[one], high[one] - 1) end
      end
    end
  end
end

-- The features of the time model: what each resource would take alone, in units of the center's.
local function time_features(point, center, scale)
  local row = { scale }
  for d = 1, knob_count do row[d + 1] = scale * center.value[d] / point.value[d] end
  local grown = point.batch / center.batch
  for i = 1, batch_at and knob_count + 1 or 0 do row[knob_count + 1 + i] = grown * row[i] end
  return row
end

local function sum_of_products(weights, row)
  local sum = 0
  for i = 1, #weights do sum = sum + weights[i] * row[i] end
  return sum
end

-- Both models around `center`, in its units and exact there. Nearby points count more; equal shares are expected.
local function fit_models(center)
  local function weight_of(point)
    local distance = math.log(point.batch / center.batch) ^ 2
    for d = 1, knob_count do distance = distance + math.log(point.value[d] / center.value[d]) ^ 2 end
    return math.exp(-likeness * distance)
  end
  local rows, ones, expected = {}, {}, {}
  for i = 1, #points + #lates do
    local point = points[i] or lates[i - #points]
    local row = time_features(point, center, center.time / point.time)
    row.weight, row.at_least = weight_of(point), i > #points
    rows[i], ones[i] = row, 1
  end
  local unit = time_features(center, center, 1)
  for i = 1, #unit do expected[i] = 1 / #unit end
  local w = numerics.nonnegative_fit(rows, ones, expected, pull)

  rows, ones, expected = {}, {}, { 0.4 }
  for i = 2, knob_count + 2 do expected[i] = 0.6 / (knob_count + 1) end
  local function add_row(point, power, time, at_least)
    local scale = center.power / power
    local row = { scale, weight = weight_of(point), at_least = at_least }
    for d = 1, knob_count do row[d + 1] = scale * point.value[d] / center.value[d] end
    row[knob_count + 2] = scale * point.batch / center.batch / time
    rows[#rows + 1], ones[#ones + 1] = row, 1
  end
  for _, point in ipairs(points) do add_row(point, point.power, point.time / center.time) end
  -- A setting cut short for its power has no reading; it drew more than the cap it was tried under.
  for _, point in ipairs(failures) do
    local time = sum_of_products(w, time_features(point, center, 1)) / sum_of_products(w, unit)
    add_row(point, 1.05 * goal.power_w, time, true)
  end
  local e = numerics.nonnegative_fit(rows, ones, expected, pull)
  local time_unit, power_unit = sum_of_products(w, unit), 0
  for i = 1, #e do power_unit = power_unit + e[i] end
  for i = 1, #w do w[i] = w[i] / time_unit end
  for i = 1, #e do e[i] = e[i] / power_unit end
  return w, e
end

-- The positions worth a thought: powers of `base` steps away, and both ends; thinned out like that until few enough
-- settings are left to look at each; nil where they never are, since too many were looked at before.
local function steps_everywhere(center)
  for base = 1, 16 do
    local steps, settings = {}, 1
    for d = 1, count do
      local near, reach, distance = {}, { [0] = true }, 1
      while base > 1 and distance < most[d] do reach[distance], distance = true, distance * base end
      for i = 1, most[d] do
        local away = math.abs(i - center.positions[d])
        if base == 1 or i == 1 or i == most[d] or reach[away] then near[#near + 1] = i end
      end
      steps[d], settings = near, settings * #near
    end
    if settings <= most_looked - looked then return steps end
  end
end

-- The unmeasured setting with the least predicted cost within the goal, if it beats `center` or that does not keep the
-- goal; else the least late by prediction. A step away costs `caution`, a leap more; `margin` is kept to the cap.
local function propose(center, caution, margin, only_batch)
  local steps, positions, powers, penalties = steps_everywhere(center), {}, {}, {}
  if not steps then return nil end
  local w, e = fit_models(center)
  local limit = goal.power_w / center.power * math.exp(-margin)
  local least, chosen = center.within and center.cost * math.exp(-optimism) or math.huge, nil
  local least_late, late, tried = math.huge, nil, {}
  for _, point in ipairs(points) do tried[point.batch] = true end
  for d = 1, count do
    powers[d], penalties[d] = {}, {}
    for _, i in ipairs(steps[d]) do
      local ratio = values[d][i] / center.value[d]
      local leap = math.log(ratio)
      powers[d][i] = d <= knob_count and e[d + 1] * ratio
      penalties[d][i] = math.exp(caution * math.abs(leap) + leap_cost * leap ^ 2)
    end
  end
  local function look_at_batch(batch, penalty_of_batch)
    local grown = batch / center.batch
    local function weight(i) return w[i] + (batch_at and grown * w[knob_count + 1 + i] or 0) end
    local times = {}
    for d = 1, knob_count do
      times[d] = {}
      for _, i in ipairs(steps[d]) do times[d][i] = weight(d + 1) * center.value[d] / values[d][i] end
    end
    local allowed, wait, latency = most_ms(batch), rate > 0 and 1e3 * batch / rate or 0, goal.objective == "latency"
    local activity, slow = e[knob_count + 2] * grown, slowest * grown
    local function visit(d, time, power, penalty)
      if d > knob_count then
        looked = looked + 1
        power = power + activity / time
        if power > limit then return end
        local ms = time * center.time * penalty
        if ms > allowed then
          local lateness = center.within and math.huge or ms / allowed * (tried[batch] and 1 or unmeasured_batch)
          if lateness < least_late and is_new(positions) then least_late, late = lateness, { table.unpack(positions) } end
          return
        end
        local cost = latency and goal.latency_of(batch, ms) / 1e3
          or energy and (goal.one_by_one and math.max(ms, wait) or ms) / 1e3 / batch * (power * center.power) or ms / 1e3 / batch
        if cost < least and is_new(positions) then least, chosen = cost, { table.unpack(positions) } end
        return
      end
      local time_of, power_of, penalty_of = times[d], powers[d], penalties[d]
      for _, i in ipairs(steps[d]) do
        if power + power_of[i] <= limit and time + time_of[i] <= slow then
          positions[d] = i
          visit(d + 1, time + time_of[i], power + power_of[i], penalty * penalty_of[i])
        end
      end
    end
    -- No minibatch takes less than nothing, so a batch that waits longer than the best is no better.
    if not latency or goal.latency_of(batch, 0) / 1e3 < least then visit(1, weight(1), e[1], penalty_of_batch) end
  end
  if batch_at then
    for _, i in ipairs(steps[batch_at]) do
      local batch = values[batch_at][i]
      positions[batch_at] = i
      if not only_batch or batch == only_batch then look_at_batch(batch, penalties[batch_at][i]) end
    end
  else
    look_at_batch(center.batch, 1)
  end
  return chosen or not center.within and late or nil
end

-- A step from the best along one dimension that was not measured; nil where all were. What time takes the models know.
local function neighbour()
  local best = ({ energy = true, weighted = true, target = true })[goal.objective] and best_point()
  for i = 2, best and 2 * count + 1 or 0 do
    local positions, d = { table.unpack(best.positions) }, i // 2
    positions[d] = positions[d] + 2 * (i % 2) - 1
    if positions[d] >= 1 and positions[d] <= most[d] and is_new(positions) then return positions end
  end
end

local function refine()
  local caution, margin, second_look = step_cost, 0, true
  while measurements_left > 0 do
    local center = best_point() or least_of("miss") -- of the models: while nothing keeps the goal, what comes closest
    local chosen = propose(center, caution, margin) or not second_look and neighbour()
    if chosen then
      local answer = ask(chosen)
      if answer.within and (answer.value < center.cost or not center.within) then
        caution, margin = math.max(step_cost, caution / 2), margin / 2
      elseif answer.ok and not center.within then
        margin = margin / 2
      elseif answer.ok or answer.reason == "late" then
        caution = 2 * caution + 0.01
      elseif answer.failed then
        blame(chosen)
      else
        margin = center.within and growth * margin + step_margin or 2 * margin + 0.02
      end
    elseif second_look then
      second_look, likeness, caution, margin, step_cost = false, 0.3, 0, 0, 0
    else
      return
    end
  end
end

-- A smaller batch that was only just late: the settings that are predicted to be least late are tried too.
local function challenge()
  local margin = 0
  for _ = 1, challenges do
    local best = best_point()
    local closest = least_of("miss", function(one) return one.batch < best.batch and one.power <= goal.power_w end)
    if measurements_left <= 0 or not closest or closest.miss > just_late then return end
    local chosen = propose(closest, step_cost, margin, closest.batch)
    if not chosen then return end
    margin = ask(chosen).ok and margin / 2 or 2 * margin + step_margin
  end
end

-- One by one, requests may wait for less time in all where more of them are answered at once.
local function try_larger(best)
  local larger = { table.unpack(best.positions) }
  larger[batch_at] = larger[batch_at] + 1
  local size = goal.one_by_one and values[batch_at][larger[batch_at]]
  if size and goal.latency_of(size, 0) / 1e3 < best.cost and is_new(larger) then ask(larger) end
end

-- The newest answer of a setting counts; one that was cut short under a tighter cap than this says nothing.
local recalled = recall(most_recalled)
for i = #recalled, 1, -1 do
  local answer = observations[recalled[i]]
  local says = answer.ok or answer.reason == "late" or answer.reason == "over_limit" and goal.power_w <= answer.limit_w
  local positions = says and positions_of(answer.setting)
  if positions then learn(positions, answer) end
end
-- What is known spares halving its first measurement at least, which pays for the one try.
measurements_left = #points > count and none_within_cap() and 1 or 0
refine()
local halved = #points <= count or none_within_cap()
-- Halving takes log2(N) measurements, refining one a dimension; where halving is left out, three.
measurements_left = halved and math.ceil(math.log(combinations, 2)) + count or 3 * count
-- The next batch where the smaller one is late however fast it is.
for smallest = 1, halved and (batch_at and rate > 0 and #values[batch_at] or 1) or 0 do
  if smallest == 1 or #points == 0 and #lates > 0 then halve(smallest) end
end
if #points > 0 then refine() end
if batch_at and goal.objective == "latency" and best_point() then challenge() try_larger(best_point()) refine() end
if not best_point() and not halved then halve() end
-- Such batches are late in whatever keeps the cap.
while beside and not best_point() and not none_within_cap() and #values[count] > 1 do
  table.remove(values[count])
  halve()
end
if not best_point() then
  local last = { [kind .. "_batch"] = workload[kind].batch_size }
  for _, name in ipairs(knobs.names) do last[name] = safe[name] end
  local positions = positions_of(last)
  if positions then ask(positions) end
end
-- The guard may have cut it since, where the search fell back to it: what is known is answered at once.
local best = best_point()
while best and not measure(setting_at(best.positions)).within do
  best.within = false
  best = best_point()
end
if not best then return log("nothing measured keeps the goal") end
log(string.format("chose %.4g %s at %.1f W", best.cost, ({ energy = "J a sample", latency = "s of latency",
  weighted = "of the reference's cost", target = "J a sample (time has a price)" })[goal.objective] or "s a sample", best.power))
return setting_at(best.positions)
