-- Linear regression on four measured modes: "Characterizing the Performance of Accelerated Jetson Edge
-- Devices for Training Deep Learning Models" (IISc, 2022), section 5.7. Time is fitted to a constant
-- plus a weight for each of the core count and the three clocks, and so is power; the fastest setting
-- predicted to keep the goal is then measured, and held if it does. A baseline: straight lines in the
-- clocks are a poor model of either, and four modes leave five weights undetermined (the weights of
-- least norm are taken). As linear_inverse.lua it takes 1 / value
-- for time instead.

assert(goal.objective ~= "throughput" or not (workload.train and workload.infer),
  "searches for one workload, not for training beside inference: bayes, gradient, binary_search and ogd do")

-- True: time is fitted to 1 / value, which is what waiting for a clock looks like.
local inverse = script == "linear_inverse.lua"
local most_settings = 20000 -- to look at with each prediction
local corrections = 4 -- predictions that may turn out over the cap before the best measured mode is held
local most_failed = 30 -- settings that the board does not take, which cost no measurement
local most_recalled = 64 -- answers of before: the best of them are among so many

-- The modes e, f, i and j of the paper, as shares of the highest values of its board (AGX Xavier).
local modes_to_measure = {
  { cpu_cores = 8 / 8, cpu_mhz = 2100 / 2265, gpu_mhz = 900 / 1377, mem_mhz = 1600 / 2133 },
  { cpu_cores = 2 / 8, cpu_mhz = 2100 / 2265, gpu_mhz = 900 / 1377, mem_mhz = 1600 / 2133 },
  { cpu_cores = 8 / 8, cpu_mhz = 2265 / 2265, gpu_mhz = 1377 / 1377, mem_mhz = 1333 / 2133 },
  { cpu_cores = 8 / 8, cpu_mhz = 2265 / 2265, gpu_mhz = 1377 / 1377, mem_mhz = 1600 / 2133 },
}

local kind = workload.train and goal.objective ~= "latency" and "train" or "infer"
local batch = kind .. "_batch"

local function nearest_position(values, wanted)
  local chosen = 1
  for i, value in ipairs(values) do
    if math.abs(value - wanted) < math.abs(values[chosen] - wanted) then chosen = i end
  end
  return chosen
end

local time_rows, times, power_rows, powers = {}, {}, {}, {}
local best

local function consider(answer)
  if answer.within and (not best or answer.value < best.value) then best = answer end
end

-- What was measured before is no row, for the four modes are the method; but of a weighted cost the reference is
-- among it, and may be better than all that is predicted.
for _, i in ipairs(recall(most_recalled)) do consider(observations[i]) end

local function learn(answer)
  -- Requests may have left no time to train.
  if not answer.ok or answer.minibatch_ms == math.huge then return end
  local time_row, power_row = { 1 }, { 1 }
  for d, dimension in ipairs(dimensions) do
    -- In shares of the highest value, so that no unit decides which weights have least norm.
    local share = answer.setting[dimension.name] / dimension.values[#dimension.values]
    time_row[d + 1] = inverse and dimension.name ~= batch and 1 / share or share
    power_row[d + 1] = share
  end
  time_rows[#time_rows + 1], times[#times + 1] = time_row, answer.minibatch_ms
  power_rows[#power_rows + 1], powers[#powers + 1] = power_row, answer.power_w
  consider(answer)
end

-- What the board takes of a knob: up to in_force[d], as it did, and up to most[d], as far as is known.
local in_force, most, failures = {}, {}, 0
for d, dimension in ipairs(dimensions) do
  in_force[d], most[d] = 1, #dimension.values
  for i, value in ipairs(dimension.values) do if value == safe[dimension.name] then in_force[d] = i end end
end

local function ask(positions, batch_size)
  local setting = { [batch] = batch_size }
  for d, dimension in ipairs(dimensions) do
    if dimension.name ~= batch then setting[dimension.name] = dimension.values[positions[d]] end
  end
  local answer = measure(setting)
  learn(answer)
  for d = 1, answer.failed and 0 or #dimensions do in_force[d] = math.max(in_force[d], positions[d]) end
  return answer
end

-- Whether a setting failed for one knob alone: that goes no further than below it, and the second time than it did.
local function blame(positions, batch_size)
  for d, dimension in ipairs(dimensions) do
    local other = { table.unpack(positions) }
    other[d] = in_force[d]
    if positions[d] > in_force[d] and dimension.name ~= batch and not ask(other, batch_size).failed then
      most[d] = most[d] < #dimension.values and in_force[d] or positions[d] - 1
      return true
    end
  end
  return false
end

-- A mode over the cap teaches nothing: its knobs go half way down to their lowest values until it fits.
local function measure_below(positions, batch_size)
  while true do
    local lowest = true
    for d, dimension in ipairs(dimensions) do
      positions[d] = math.min(positions[d], most[d])
      lowest = lowest and (positions[d] == 1 or dimension.name == batch)
    end
    local answer = ask(positions, batch_size)
    -- One that is answered from memory may be over a cap that has fallen since.
    if lowest or answer.ok and answer.power_w <= goal.power_w then return end
    local found = answer.failed and blame(positions, batch_size)
    for d, dimension in ipairs(dimensions) do
      if not found and dimension.name ~= batch then positions[d] = (positions[d] + 1) // 2 end
    end
  end
end

local function start_positions(shares)
  local positions = {}
  for d, dimension in ipairs(dimensions) do
    local values = dimension.values
    positions[d] = nearest_position(values, (shares[dimension.name] or 1) * values[#values])
  end
  return positions
end

for _, shares in ipairs(modes_to_measure) do measure_below(start_positions(shares)) end
-- The paper knows one batch size. Where there are more, one of the modes is measured at both ends.
local sizes = batch_sizes[kind]
if #sizes > 1 then
  measure_below(start_positions(modes_to_measure[1]), sizes[1])
  measure_below(start_positions(modes_to_measure[1]), sizes[#sizes])
end
if #times == 0 then return best and best.setting end

-- The positions whose settings are looked at: all, or on large boards every `stride`th of a dimension.
local function positions_of(count, stride)
  local positions = {}
  for i = 1, count do
    if (i - 1) % stride == 0 or i == count then positions[#positions + 1] = i end
  end
  return positions
end

local looked_at, stride, settings = {}, 0, math.huge
while settings > most_settings do
  stride, settings = stride + 1, 1
  for d, dimension in ipairs(dimensions) do
    looked_at[d] = positions_of(most[d], stride)
    settings = settings * #looked_at[d]
  end
end

-- What each value of each dimension adds to a prediction.
local function terms(weights, inverted)
  local of = {}
  for d, dimension in ipairs(dimensions) do
    of[d] = {}
    for i, value in ipairs(dimension.values) do
      local share = value / dimension.values[#dimension.values]
      of[d][i] = weights[d + 1] * (inverted and dimension.name ~= batch and 1 / share or share)
    end
  end
  return of
end

local rate = kind == "infer" and goal.arrivals_per_s or 0
local latency_counts, energy = goal.objective == "latency", goal.objective == "energy"
local pauses = rate > 0 and goal.one_by_one

-- The setting with the least predicted value that keeps the goal by prediction; nil where there is none.
local function predicted_best(refused)
  local time_weights = numerics.least_squares(time_rows, times)
  local power_weights = numerics.least_squares(power_rows, powers)
  local time_of, power_of = terms(time_weights, inverse), terms(power_weights, false)
  local least, chosen, values = math.huge, nil, {}
  local size, wait_ms, most_ms
  local function choose_batch(value)
    size = value
    wait_ms = rate > 0 and 1e3 * size / rate or 0
    most_ms = rate > 0 and math.min(goal.most_busy * wait_ms, goal.latency_ms - wait_ms) or math.huge
  end
  -- Dimensions from the last, the batch size, to the first.
  local function visit(d, time_ms, power_w)
    if d == 0 then
      if power_w > goal.power_w or time_ms <= 0 or time_ms > most_ms then return end
      local drawn_ms = pauses and math.max(time_ms, wait_ms) or time_ms -- with the pauses between batches
      local value = latency_counts and goal.latency_of(size, time_ms) or energy and drawn_ms / size * power_w or time_ms / size
      if value < least and not refused[table.concat(values, " ")] then
        least, chosen = value, { table.unpack(values) }
      end
      return
    end
    local times_here, powers_here, values_here = time_of[d], power_of[d], dimensions[d].values
    for _, i in ipairs(looked_at[d]) do
      values[d] = values_here[i]
      if d == #dimensions and #sizes > 1 then choose_batch(values[d]) end
      if most_ms > 0 then visit(d - 1, time_ms + times_here[i], power_w + powers_here[i]) end
    end
  end
  choose_batch(workload[kind].batch_size)
  for d = 1, #dimensions do values[d] = 0 end
  visit(#dimensions, time_weights[1], power_weights[1])
  return chosen
end

local refused, tries = {}, 0
while tries <= corrections do
  local values = predicted_best(refused)
  if not values then break end
  local setting = {}
  for d, dimension in ipairs(dimensions) do setting[dimension.name] = values[d] end
  local answer = measure(setting)
  if answer.within then
    consider(answer)
    break
  end
  refused[table.concat(values, " ")] = true
  learn(answer)
  if answer.failed and failures < most_failed then failures = failures + 1 else tries = tries + 1 end
end
return best and best.setting
