-- Multi-dimensional binary search over every knob and the batch size: about log2(N) measurements for
-- N settings, and a choice that was measured to keep the cap.
--
-- 1. Halve. Measure the middle of the ranges that are left. Within the cap, the lower half of one
--    range goes; over it, the upper half; ranges take turns until each has one value left. This is
--    section 4.2 of "Optimization of Training Time and Generalizability for DNN Training on Edge
--    Devices" (IISc, 2024). It leaves open what to do where a setting keeps the cap but is slower
--    than the best: power is left to turn into speed, so the lower half goes there too.
-- 2. Refine. Halving cannot trade one knob against another. Two models of what was measured can:
--      time  = w0 + sum of w / knob                     each resource is waited for in turn
--      power = e0 + sum of e * knob + k / time          clocks cost, and so does the work done
--    with no negative weight. Their best setting within the cap is measured next, and joins the fit,
--    until they promise nothing better. Only measurements decide.
--
-- Under a new cap the script starts again: what it meets in `observations` replaces the halving.

local kind = workload.train and "train" or "infer"
local energy = goal.objective == "energy"
local leap_cost = 0.03 -- one knob far from all that was seen is where the models are wrong
local slowest = 6 -- times the center: measuring what is slower still would take minutes
local likeness, optimism, step_cost, step_margin, prior_weight = 1, 0.01, 0.01, 0.01, 0.1

-- The dimensions: names[d] is a field of a setting, values[d] what it may be, lowest first.
local names, values, combinations = {}, {}, 1
for _, name in ipairs(knobs.names) do
  names[#names + 1], values[#values + 1] = name, knobs[name]
end
if batch_sizes[kind] then
  names[#names + 1], values[#values + 1] = kind .. "_batch", batch_sizes[kind]
end
local dimensions = #names
for d = 1, dimensions do combinations = combinations * #values[d] end

-- Halving takes log2(N) measurements, refining one a dimension; where halving is left out, three.
local measurements_left = #observations > dimensions and 3 * dimensions
  or math.ceil(math.log(combinations, 2)) + dimensions

-- What is known: complete answers, and settings that were not measured to the end.
local points, failures, seen = {}, {}, {}

-- A setting is held as one position a dimension.
local function setting_at(positions)
  local setting = {}
  for d = 1, dimensions do setting[names[d]] = values[d][positions[d]] end
  return setting
end

local function positions_of(setting)
  local positions = {}
  for d = 1, dimensions do
    for i, value in ipairs(values[d]) do
      if value == setting[names[d]] then positions[d] = i end
    end
    if not positions[d] then return nil end
  end
  return positions
end

local function learn(positions, answer)
  local key = table.concat(positions, " ")
  if seen[key] then return end
  seen[key] = true
  local point = { positions = positions, value = {}, within = answer.within }
  for d = 1, dimensions do point.value[d] = values[d][positions[d]] end
  if answer.ok then
    point.time, point.cost = answer.sample_ms, answer.value
    point.power = answer.power_w + answer.power_margin_w
    points[#points + 1] = point
  elseif answer.reason == "over_limit" then
    failures[#failures + 1] = point
  end
end

local function ask(positions)
  local answer = measure(setting_at(positions))
  if not seen[table.concat(positions, " ")] then measurements_left = measurements_left - 1 end
  learn(positions, answer)
  return answer
end

local function best_point()
  local best
  for _, point in ipairs(points) do
    if point.within and (not best or point.cost < best.cost) then best = point end
  end
  return best
end

-- Where the models are centered: the best, or while nothing keeps the cap, what comes closest.
local function center_point()
  local closest = best_point()
  if closest then return closest end
  for _, point in ipairs(points) do
    if not closest or point.power < closest.power then closest = point end
  end
  return closest
end

local function halve()
  local low, high, turn = {}, {}, 0
  for d = 1, dimensions do low[d], high[d] = 1, #values[d] end
  while true do
    local middle, open = {}, {}
    for d = 1, dimensions do
      middle[d] = (low[d] + high[d] + 1) // 2
      if low[d] < high[d] then open[#open + 1] = d end
    end
    local within = ask(middle).within
    if #open == 0 then return end
    local d = open[turn % #open + 1]
    turn = turn + 1
    if within then
      low[d] = math.min(middle[d] + 1, high[d])
    else
      high[d] = math.min(middle[d], high[d] - 1)
    end
  end
end

-- The weights x >= 0 that make every row's sum of x * feature as near to 1 as it gets, drawn towards
-- `prior`: coordinate descent. A row marked `above` only says that its sum is 1 at least.
local function fit(rows, prior)
  local x, errors = { table.unpack(prior) }, {}
  for r, row in ipairs(rows) do
    errors[r] = 1
    for i = 1, #x do errors[r] = errors[r] - x[i] * row[i] end
  end
  for _ = 1, 40 do
    for i = 1, #x do
      local slope, curvature = prior_weight * (prior[i] - x[i]), prior_weight
      for r, row in ipairs(rows) do
        if errors[r] > 0 or not row.above then
          local weighted = row.weight * row[i]
          slope, curvature = slope + weighted * errors[r], curvature + weighted * row[i]
        end
      end
      local change = math.max(-x[i], slope / curvature)
      x[i] = x[i] + change
      for r, row in ipairs(rows) do errors[r] = errors[r] - change * row[i] end
    end
  end
  return x
end

-- Both models around `center`, in units of its time and power. Nearby points count more. Before any
-- is seen, every resource is held to take an equal share, and idling 0.4 of the power.
local function fit_models(center, over_w)
  local time_rows, power_rows, time_prior, power_prior = {}, {}, {}, { 0.4 }
  for d = 1, dimensions + 1 do
    time_prior[d], power_prior[d + 1] = 1 / (dimensions + 1), 0.6 / (dimensions + 1)
  end
  local function ratios(point)
    local ratio, distance = {}, 0
    for d = 1, dimensions do
      ratio[d] = point.value[d] / center.value[d]
      distance = distance + math.log(ratio[d]) ^ 2
    end
    return ratio, math.exp(-likeness * distance)
  end
  local function add_power_row(ratio, weight, power, time, above)
    local scale = center.power / power
    local row = { scale, weight = weight, above = above }
    for d = 1, dimensions do row[d + 1] = scale * ratio[d] end
    row[dimensions + 2] = scale / time
    power_rows[#power_rows + 1] = row
  end
  for _, point in ipairs(points) do
    local ratio, weight = ratios(point)
    local scale = center.time / point.time
    local row = { scale, weight = weight }
    for d = 1, dimensions do row[d + 1] = scale / ratio[d] end
    time_rows[#time_rows + 1] = row
    add_power_row(ratio, weight, point.power, point.time / center.time)
  end
  local w = fit(time_rows, time_prior)
  -- A setting cut short for its power has no reading; it drew more than the cap it was tried under.
  for _, point in ipairs(failures) do
    local ratio, weight = ratios(point)
    local time, unit = w[1], w[1]
    for d = 1, dimensions do time, unit = time + w[d + 1] / ratio[d], unit + w[d + 1] end
    add_power_row(ratio, weight, 1.05 * over_w, time / unit, true)
  end
  return w, fit(power_rows, power_prior)
end

-- The positions worth a thought: powers of `base` steps away, and both ends.
local function steps_around(position, count, base)
  local steps, reach = {}, { [0] = true }
  local distance = 1
  while distance < count do
    reach[distance], distance = true, distance * base
  end
  for i = 1, count do
    if i == 1 or i == count or reach[math.abs(i - position)] then steps[#steps + 1] = i end
  end
  return steps
end

-- The same in every dimension, thinned out until few enough settings are left to look at each.
local function steps_everywhere(center)
  for base = 2, 16 do
    local steps, settings = {}, 1
    for d = 1, dimensions do
      steps[d] = steps_around(center.positions[d], #values[d], base)
      settings = settings * #steps[d]
    end
    if settings <= 20000 or base == 16 then return steps end
  end
end

-- The unmeasured setting with the least predicted cost within the cap, if it beats `center` or that
-- is over the cap. Each step away from the center costs `caution`, a leap more than steps in several
-- dimensions, and `margin` is kept to the cap.
local function propose(center, caution, margin)
  local w, e = fit_models(center, goal.power_w)
  local time_unit, power_unit = 0, 0
  for _, weight in ipairs(w) do time_unit = time_unit + weight end
  for _, weight in ipairs(e) do power_unit = power_unit + weight end
  local limit = goal.power_w / center.power * math.exp(-margin)
  local activity = e[dimensions + 2]
  local least, chosen = center.within and math.exp(optimism) or math.huge, nil
  local times, powers, penalties, steps = {}, {}, {}, steps_everywhere(center)
  for d = 1, dimensions do
    times[d], powers[d], penalties[d] = {}, {}, {}
    for _, i in ipairs(steps[d]) do
      local ratio = values[d][i] / center.value[d]
      times[d][i] = w[d + 1] / ratio / time_unit
      powers[d][i] = e[d + 1] * ratio / power_unit
      local leap = math.log(ratio)
      penalties[d][i] = math.exp(caution * math.abs(leap) + leap_cost * leap ^ 2)
    end
  end
  local positions = {}
  local function visit(d, time, power, penalty)
    if d > dimensions then
      power = power + activity / power_unit / time
      local cost = energy and time * power * penalty or time * penalty
      if cost < least and power <= limit and not seen[table.concat(positions, " ")] then
        least, chosen = cost, { table.unpack(positions) }
      end
      return
    end
    local time_of, power_of, penalty_of = times[d], powers[d], penalties[d]
    for _, i in ipairs(steps[d]) do
      if power + power_of[i] <= limit and time + time_of[i] <= slowest then
        positions[d] = i
        visit(d + 1, time + time_of[i], power + power_of[i], penalty * penalty_of[i])
      end
    end
  end
  visit(1, w[1] / time_unit, e[1] / power_unit, 1)
  return chosen
end

local function refine()
  local caution, margin, second_look = step_cost, 0, true
  while measurements_left > 0 do
    local center = center_point()
    local chosen = propose(center, caution, margin)
    if chosen then
      local answer = ask(chosen)
      if answer.within and (answer.value < center.cost or not center.within) then
        caution, margin = math.max(step_cost, caution / 2), margin / 2
      elseif answer.within then
        caution = 2 * caution + 0.01
      else
        margin = center.within and margin + step_margin or 2 * margin + 0.02
      end
    elseif second_look then
      second_look, likeness, caution, margin, step_cost = false, 0.3, 0, 0, 0
    else
      return
    end
  end
end

-- The newest answer of a setting counts: one that fitted and later went over the cap does not fit. One
-- that was cut short under a tighter cap than this says nothing.
for i = #observations, 1, -1 do
  local known = observations[i]
  local says = known.ok or known.reason == "over_limit" and goal.power_w <= known.limit_w
  local positions = says and positions_of(known.setting)
  if positions then learn(positions, known) end
end
-- What is known replaces the halving. Under a tighter cap it may all be over: the models then lead
-- below it; if they do not, halving does; and the safe mode is what is left to try.
local halved = #points <= dimensions
if halved then halve() end
if #points > 0 then refine() end
if not best_point() and not halved then halve() end
if not best_point() then
  local last = { [kind .. "_batch"] = workload[kind].batch_size }
  for _, name in ipairs(knobs.names) do last[name] = safe[name] end
  local positions = positions_of(last)
  if positions then ask(positions) end
end

local best = best_point()
if not best then
  log("nothing measured keeps the cap")
  return nil
end
log(string.format("chose %.4g %s a sample at %.1f W", best.cost, energy and "J" or "s", best.power))
return setting_at(best.positions)
