-- Projected online gradient descent on the lattice of settings, by measurements alone: from the highest
-- setting down the slopes of the logarithm of the cost, and then on looking around the best for ever,
-- less and less often, where looking costs least. docs/policies.md has the sources and the constants.
--
-- 1. Descend. Every knob is a coordinate from 0 (lowest value) to 1 (highest). One coordinate after the
--    other, in random order, is measured a step to the side: a two-point estimate of that slope. The step
--    taken is the one of AdaGrad, and of the three points the best is where the next one begins. Steps
--    shrink with the square root of their number, until they are smaller than the lattice. Where that
--    ends at lower clocks and the board has a power limit, it descends once more, from a lower limit.
-- 2. Learn on. A random setting around the best is measured, as far off along each coordinate as its
--    slopes say is cheap, at every measurement at first and then at a rate that falls with the square
--    root of their number, the lower the dearer looks have been. All other measurements are of the best
--    itself, so that it is known best of all, and a change of the world is seen.
--
-- A setting over the cap counts as a wall: the slopes of power say how far a step may go (projection),
-- and where they were wrong, the step is not taken.

local STEP <const> = 0.35     -- of the range of a knob: the first step, and how far the first look
local CHEAP <const> = 0.05    -- by how much the cost may change along one coordinate when looking around
local LEAST_LOOK <const> = 0.15 -- of a range, however steep
local LOOKING <const> = 100   -- measurements, from the start, that all look
local LOOK_RATE <const> = 0.05 -- share that looks from then on, at most, falling with the square root
local LOOK_COST <const> = 0.005 -- of the cost of everything, that looks may add from then on, falling alike
local WINDOW <const> = 8      -- a cost is the mean of about so many of its last measurements
local MARGIN <const> = 0.02   -- below the cap, of log power: slopes are not quite straight
local MOST_RECALLED <const> = 1000 -- answers of before a restart
local MOST_FAILURES <const> = 2 -- of a knob's value that never was in force, before looks leave it out
local DRAWS <const> = 20      -- at a setting that is new, before one that was measured is taken
local HALVINGS <const> = 6    -- between the lowest and the highest setting, where that is over the cap

local count = #dimensions
local names, values, index_of = {}, {}, {}
for d, dimension in ipairs(dimensions) do
  names[d], values[d], index_of[d] = dimension.name, dimension.values, {}
  for i, value in ipairs(dimension.values) do index_of[d][value] = i end
end

-- Everything known of a setting: its position, log cost (infinite where it may not be held), log power.
local points, all = {}, {}
local failures = {} -- by coordinate and value: measurements that told nothing; none once one told something
for d = 1, count do failures[d] = {} end
local best = nil
local idle = nil -- of what serves and leaves no time to train, what serves in the least time
local measurements = 0

local function cell_of(x)
  local position = {}
  for d = 1, count do position[d] = math.floor(x[d] * (#values[d] - 1) + 0.5) + 1 end
  return position
end

local function place_of(position)
  local x = {}
  for d = 1, count do x[d] = #values[d] > 1 and (position[d] - 1) / (#values[d] - 1) or 1 end
  return x
end

local function find_best()
  best = nil
  for _, point in ipairs(all) do
    if point.cost < math.huge and (not best or point.cost < best.cost) then best = point end
  end
end

local function learn(position, answer)
  local key = table.concat(position, " ")
  local point = points[key]
  if not point then
    point = { position = position, cost = math.huge, repeats = 0 }
    points[key], all[#all + 1] = point, point
  end
  if answer.within and answer.value == math.huge and answer.infer then
    local sample_ms = answer.infer.sample_ms
    if not idle or sample_ms < idle.sample_ms then idle = { setting = answer.setting, sample_ms = sample_ms } end
  end
  if answer.within and answer.value > 0 then
    local cost = math.log(answer.value)
    point.repeats = math.min(point.repeats + 1, WINDOW)
    point.cost = point.repeats == 1 and cost or point.cost + (cost - point.cost) / point.repeats
    point.power = math.log(answer.power_w + answer.power_margin_w)
  else
    point.cost, point.repeats = math.huge, 0
    point.power = answer.ok and math.log(answer.power_w + answer.power_margin_w) or nil
    point.over = answer.reason == "over_limit"
    -- It keeps the cap, but requests are late: a faster mode may serve them.
    local cheap = answer.power_w + answer.power_margin_w <= goal.power_w and answer.energy_j <= goal.energy_j
    point.slow = answer.reason == "late" or answer.ok and cheap
  end
  local in_vain = answer.failed or answer.reason == "late" -- late ones count as failures of their values, too
  for d = 1, count do
    local value = position[d]
    failures[d][value] = in_vain and (failures[d][value] or 0) + 1 or -math.huge
  end
  return point
end

local function ask(position)
  local setting = {}
  for d = 1, count do setting[names[d]] = values[d][position[d]] end
  measurements = measurements + 1
  local point = learn(position, remeasure(setting))
  find_best()
  return point
end

-- What is known of a place, measured where nothing is.
local function look_at(x)
  local position = cell_of(x)
  return points[table.concat(position, " ")] or ask(position)
end

for i = math.max(1, #observations - MOST_RECALLED + 1), #observations do
  local answer, position = observations[i], {}
  for d = 1, count do position[d] = index_of[d][answer.setting[names[d]]] end
  -- What a lower cap cut is new again.
  local cut_lower = answer.reason == "over_limit" and answer.limit_w < goal.power_w
  -- So is what was late at a higher rate than now.
  local was_late = answer.reason == "late" and not known(answer.setting)
  if #position == count and not cut_lower and not was_late then learn(position, answer) end
  measurements = measurements + 1
end
find_best()

-- A place that serves requests in time where the line below has none: a small batch may need high clocks, and on
-- that line it has low ones. All else is halved at each batch size of requests that can be full in time, the
-- smallest first: up where they are late, down where it is over the cap. The next batch begins where that ended.
local function start_serving()
  if goal.arrivals_per_s == 0 then return nil end
  local last = names[count] == "infer_batch" and count or nil
  local part, high = 1, 1
  for i = 1, last and #values[last] or 1 do
    if last and i > 1 then
      local full_ms = 1000 * values[last][i] / goal.arrivals_per_s * (goal.one_by_one and 0.5 / 0.9 or 1)
      if full_ms >= goal.latency_ms then return nil end
    end
    local low = 0
    for _ = 0, HALVINGS do
      local x = {}
      for d = 1, count do x[d] = part end
      if last then x[last] = (i - 1) / (#values[last] - 1) end
      local point = look_at(x)
      if point.cost < math.huge then return x end
      if point.slow then low = part else high = part end
      if low == high then break end
      part = (low + high) / 2
    end
    part = low
  end
  return nil
end

-- Where the descent starts: at the best that is known, where more than one setting is (one alone, what was in
-- force when the world changed, may be at a wall); else at the highest setting, or as high as the cap lets it
-- on the line to the lowest.
local function start()
  if best and #all > 1 then return place_of(best.position) end
  local x, low, high = {}, 0, 1
  for d = 1, count do x[d] = 1 end
  if look_at(x).cost < math.huge then return x end
  for _ = 1, HALVINGS do
    local middle = (low + high) / 2
    for d = 1, count do x[d] = middle end
    if look_at(x).cost < math.huge then low = middle else high = middle end
  end
  for d = 1, count do x[d] = low end
  return look_at(x).cost < math.huge and x or start_serving()
end

local slopes, looks = {}, {} -- sums of squared slopes of the cost, and how many they are
local power_slope = {}       -- of log power, as last measured
local steps = {}
for d = 1, count do slopes[d], looks[d], power_slope[d], steps[d] = 0, 0, 0, 0 end
local cap = math.log(goal.power_w) - MARGIN

local function clamp(number) return math.max(0, math.min(1, number)) end

-- A place next to x along coordinate d, or as far towards it as the slope of power lets.
local function moved(x, d, to, power)
  local y = { table.unpack(x) }
  y[d] = clamp(to)
  local more = power_slope[d] * (y[d] - x[d])
  if power and more > 0 and power + more > cap then
    local places, sign = #values[d] - 1, y[d] > x[d] and 1 or -1
    local far = math.abs(y[d] - x[d]) * math.max(0, (cap - power) / more)
    y[d] = x[d] + sign * math.floor(far * places) / places
  end
  return y
end

-- One coordinate: a look to the side, the slope, a step. Where the next one begins.
local function step_along(x, d)
  local here = look_at(x)
  local look = math.max(STEP / math.sqrt(steps[d]), 1 / (#values[d] - 1))
  local side = math.random() < 0.5 and 1 or -1
  if x[d] + look > 1 + 1e-9 then side = -1 elseif x[d] - look < -1e-9 then side = 1 end
  local y = moved(x, d, x[d] + side * look, here.power)
  local there = look_at(y)
  if there == here then return x end
  local distance = y[d] - x[d]
  if there.cost == math.huge then
    -- A wall of power: the least slope that explains it. What failed otherwise says nothing of power.
    if goal.power_w < math.huge and (there.over or (there.power and there.power > cap)) then
      power_slope[d] = math.max(power_slope[d], (cap - (here.power or cap)) / math.abs(distance))
    end
    return x
  end
  if there.power and here.power then power_slope[d] = (there.power - here.power) / distance end
  local slope = (there.cost - here.cost) / distance
  slopes[d], looks[d] = slopes[d] + slope * slope, looks[d] + 1
  if slope == 0 then return x end
  local z = moved(x, d, x[d] - STEP * slope / math.sqrt(slopes[d]), here.power)
  local beyond = look_at(z)
  if beyond.cost < here.cost and beyond.cost <= there.cost then return z end
  return there.cost < here.cost and y or x
end

local function descend(x)
  local order = {}
  for d = 1, count do order[d] = d end
  local moving = true
  while moving do
    moving = false
    for i = count, 2, -1 do
      local j = math.random(i)
      order[i], order[j] = order[j], order[i]
    end
    for _, d in ipairs(order) do
      steps[d] = steps[d] + 1
      if #values[d] > 1 and STEP / math.sqrt(steps[d]) >= 0.5 / (#values[d] - 1) then
        moving = true
        x = step_along(x, d)
      end
    end
  end
end

-- A setting around the best: one that was never measured, or else one that was; nil is the best itself.
local function around(point)
  local x, again = place_of(point.position), nil
  for _ = 1, DRAWS do
    local y, power = {}, point.power
    for d = 1, count do
      local steep = looks[d] > 0 and math.sqrt(slopes[d] / looks[d]) or 0
      local far = steep > CHEAP and math.max(LEAST_LOOK, CHEAP / steep) or 1
      y[d] = clamp(x[d] + far * (2 * math.random() - 1))
    end
    local position = cell_of(y)
    for d = 1, count do
      if (failures[d][position[d]] or 0) >= MOST_FAILURES then position[d] = point.position[d] end
    end
    local at = place_of(position)
    for d = 1, count do power = power + power_slope[d] * (at[d] - x[d]) end
    local seen = points[table.concat(position, " ")]
    if not seen and power <= cap then return position end
    if seen and seen ~= point and seen.cost < math.huge then again = position end
  end
  return again
end

-- A power limit and clocks bound the same power, and where one binds, the other has no slope: so the descent ends
-- at lower clocks where a lower limit would be better. The setting that draws as much by its limit alone; nil
-- where clocks are at their highest already.
local function by_limit(point)
  local x, lower, limited = place_of(point.position), false, false
  for d = 1, count do
    if names[d] == "power_limit_w" then
      local nearest, least = 1, math.huge
      for i, limit_w in ipairs(values[d]) do
        local distance = math.abs(math.log(limit_w) - point.power)
        if distance < least and limit_w <= goal.power_w then nearest, least = i, distance end
      end
      limited = #values[d] > 1
      x[d] = limited and (nearest - 1) / (#values[d] - 1) or 1
    elseif knobs[names[d]] then
      x[d], lower = 1, lower or x[d] < 1
    end
  end
  return limited and lower and x or nil
end

local x = start()
if not x then
  log(idle and "nothing measured leaves time to train" or "nothing measured keeps the goal")
  return idle and idle.setting
end
descend(x)
x = by_limit(best)
if x and look_at(x).cost < math.huge then
  for d = 1, count do slopes[d], looks[d], steps[d] = 0, 0, 0 end
  descend(x)
end
log(string.format("descended to %.4g in %d measurements", math.exp(best.cost), measurements))
local looked, dearer = 1, 1 -- looks, the first one supposed, and the sum of what they cost beyond the best, relative
while true do
  local rate = measurements < LOOKING and 1
    or math.min(LOOK_RATE, LOOK_COST * looked / dearer) * math.sqrt(LOOKING / measurements)
  local look = math.random() < rate and around(best)
  local position = look or best.position
  local before = best
  local point = ask(position)
  if look then
    looked = looked + 1
    dearer = dearer + (point.cost < math.huge and math.max(0, math.exp(point.cost - before.cost) - 1) or 1)
  end
  -- One lucky reading is not enough to move.
  if best == point and point ~= before then ask(position) end
  if not best then return idle and idle.setting end
end
