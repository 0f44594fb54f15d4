-- Multi-dimensional gradient search: the middle first, then one knob at a time towards its end, then
-- along the steepest slopes of time over watts to the cap. About two measurements a knob; what is held
-- is the best setting that was measured to keep the goal.
--
-- 1. Probe. Measure the middle of all ranges; over the cap, half way from there to the lowest of all,
--    until it is within. From there measure each knob alone at its end, or where that is over the cap,
--    half way there: what that saves in time, and what it draws, are the slopes.
-- 2. Climb. Change the knobs that buy the most time within the cap, and lower those that lose least for
--    it; measure where that leads, correct the slopes of the knobs that moved, and go on from the
--    fastest setting so far, until the slopes promise nothing.
--
-- Probing the middle and the ends and following the best ratio of time to power is the gradient search
-- published for training and serving on Jetson boards (IISc, "Fulcrum", 2025). Ours are two things: a
-- knob is lowered to raise another, and slopes are those of waiting for a clock: time falls with
-- 1 / value, power rises with value.
--
-- Where requests arrive at a known rate, a batch of b is full after b / rate, and its minibatch may
-- take no longer than goal.most_busy of that, nor than the latency limit leaves (one by one: to half a batch). The
-- search starts with the smallest batch, and goes to the next where all that keeps the cap is late, and as long as
-- that is better, which for latency like clockwork it never is. Elsewhere the batch size is a knob like others.
--
-- Training beside inference, the slopes are those of training, and it is the batch of requests that is
-- backtracked, from the largest that is full in time: what that leaves of the time to train is most.

local beside = goal.objective == "throughput" and workload.train and workload.infer
  and goal.arrivals_per_s > 0
local kind = workload.train and not beside and goal.objective ~= "latency" and "train" or "infer"
local rate = kind == "infer" and goal.arrivals_per_s or 0
local energy = goal.objective == "energy"
-- How long power is drawn for a sample: one by one, until the next request comes.
local least_drawn_ms = rate > 0 and goal.one_by_one and 1e3 / rate or -math.huge
local function cost_of(sample_ms, power)
  return energy and math.max(sample_ms, least_drawn_ms) * power or sample_ms
end
local batch_name = kind .. "_batch"

local measurements_a_batch = 4 -- more for each batch size tried after the first
local over = 0.03 -- a setting that went over the cap is held to have drawn this much more, at least
local margin_step = 0.02 -- kept to the cap after that
local least_wait, least_draw = 0.02, 0.01 -- of the time and the power is every knob's share, at least
local most_draw = 1 -- of the power is all knobs' share
local least_gain = 0.003 -- of the cost; less is not worth a measurement
local reachable = goal.one_by_one and 0.8 or 1.5 -- times what is in time: beside training the next batch then
local most_refused = 30 -- settings, which cost no measurement
local hopeless = 1.4 -- times too slow with every knob at its highest: the next batch size is tried

-- The longest a minibatch may take.
local function most_ms(size) return rate > 0 and goal.most_ms(size) or math.huge end

-- The knobs: names[d] is a field of a setting, values[d] what it may be, lowest first.
local names, values = {}, {}
for _, dimension in ipairs(dimensions) do
  if rate <= 0 or dimension.name ~= batch_name then
    names[#names + 1], values[#values + 1] = dimension.name, dimension.values
  end
end
local count = #names

-- Batch sizes to be tried one after another, where they are no knob; `batch` is the present one.
local batches, batch = {}, nil
for _, size in ipairs(batch_sizes[kind]) do
  if rate > 0 and most_ms(size) > 0 then batches[#batches + 1] = size end
end
if beside then table.sort(batches, function(a, b) return a > b end) end
if rate > 0 and #batches == 0 then
  log("no batch size is full in time: the rate is too low, or the latency limit")
  return nil
end

local measured, best, measurements_left = {}, nil, 2 * count + 3

-- What the board takes of a knob: up to in_force[d], as it did, and up to highest[d], as far as is known. Of batch
-- sizes the smallest at least.
local in_force, highest, refused = {}, {}, 0
for d = 1, count do
  in_force[d], highest[d] = 1, #values[d]
  for i, value in ipairs(values[d]) do if value == safe[names[d]] then in_force[d] = i end end
end

local function key_of(positions) return table.concat(positions, " ") .. "/" .. (batch or 0) end

local function changed(positions, d, position)
  local copy = { table.unpack(positions) }
  copy[d] = position
  return copy
end

-- An answer, with its positions; power, with the noise margin; and whether it keeps the cap.
local function ask_once(positions)
  local key = key_of(positions)
  if measured[key] then return measured[key] end
  local setting = { [batch_name] = batch }
  for d = 1, count do setting[names[d]] = values[d][positions[d]] end
  local answer = measure(setting)
  local free = answer.failed and refused < most_refused
  if free then refused = refused + 1 else measurements_left = measurements_left - 1 end
  for d = 1, answer.failed and 0 or count do in_force[d] = math.max(in_force[d], positions[d]) end
  answer.positions, answer.batch = { table.unpack(positions) }, batch
  answer.power = answer.power_w + answer.power_margin_w
  -- Requests may have left no time to train: the times of their batches then have to do for slopes.
  if beside and answer.ok and answer.train.count == 0 then answer.sample_ms = answer.infer.minibatch_ms end
  answer.keeps_cap = answer.ok and answer.power <= goal.power_w
  if answer.within and (not best or answer.value < best.value) then best = answer end
  measured[key] = answer
  return answer
end

-- The same, of what the board takes of it: where a setting fails for one knob alone, that goes no further than
-- below it, and the second time than it did, as in the setting that is answered then.
local function ask(positions)
  local taken = {}
  for d = 1, count do taken[d] = math.min(positions[d], highest[d]) end
  local answer = ask_once(taken)
  for d = 1, answer.failed and count or 0 do
    local other = taken[d] > in_force[d] and ask_once(changed(taken, d, in_force[d]))
    if other and not other.failed then
      highest[d], answer = highest[d] < #values[d] and in_force[d] or taken[d] - 1, other
      break
    end
  end
  measured[key_of(positions)] = answer
  return answer
end

-- The slopes: time of a sample = ... + waits[d] / value, power = ... + draws[d] * value. Before a knob
-- is measured it is held to have an equal share in the time, and in 0.6 of the power.
local waits, draws = {}, {}

local function expect_equal_shares(from)
  for d = 1, count do
    local value = values[d][from.positions[d]]
    waits[d] = from.sample_ms * value / (count + 1)
    draws[d] = 0.6 * from.power / (count + 1) / value
  end
end

local function time_change(d, from, to) return waits[d] * (1 / values[d][to] - 1 / values[d][from]) end

local function power_change(d, from, to) return draws[d] * (values[d][to] - values[d][from]) end

-- Of one that was cut short for late requests it is known that it takes more than was allowed: the knobs
-- that were lowered wait for at least as long.
local function learn_late(from, answer)
  local lost, expected = answer.slower_than_ms / (batch or 1) - from.sample_ms, 0
  for d = 1, count do
    local time = time_change(d, from.positions[d], answer.positions[d])
    if time > 0 then expected = expected + time else lost = lost - time end
  end
  if expected <= 0 or lost <= expected then return end
  for d = 1, count do
    if answer.positions[d] < from.positions[d] then waits[d] = waits[d] * lost / expected end
  end
end

-- What a change from `from` says of the knobs that were raised, or of those lowered where none was;
-- knobs that were lowered with them are taken as predicted. One that went over the cap draws more.
local function learn_step(from, answer)
  if answer.reason == "late" then return learn_late(from, answer) end
  if not answer.ok and answer.reason ~= "over_limit" then return end
  local moved, raised = {}, false
  for d = 1, count do raised = raised or answer.positions[d] > from.positions[d] end
  local saved, expected_saving = from.sample_ms - answer.sample_ms, 0
  local drawn, expected_draw = answer.power - from.power, 0
  if not answer.ok then drawn = (1 + over) * goal.power_w - from.power end
  for d = 1, count do
    local before, after = from.positions[d], answer.positions[d]
    local time, power = time_change(d, before, after), power_change(d, before, after)
    if raised and after > before or not raised and after < before then
      moved[#moved + 1] = d
      expected_saving, expected_draw = expected_saving - time, expected_draw + power
    else
      saved, drawn = saved + time, drawn - power
    end
  end
  for _, d in ipairs(moved) do
    local value = values[d][from.positions[d]]
    if answer.ok then
      waits[d] = math.max(least_wait * from.sample_ms * value, waits[d] * saved / expected_saving)
    end
    if answer.ok or drawn > expected_draw then
      draws[d] = math.max(least_draw * from.power / value, draws[d] * drawn / expected_draw)
    end
  end
end

-- The given positions, or while those are over the cap, half way from there to the lowest of all, and
-- while requests are late in them, to the highest; and the highest positions that a knob alone is worth
-- trying at next. Nil where nothing keeps the cap, or requests are late wherever it is kept; then also
-- whether they were.
local function first_within(positions)
  local ends, over_cap, late = {}, false, false
  for d = 1, count do ends[d] = #values[d] end
  while measurements_left > 0 do
    local answer = ask(positions)
    if answer.keeps_cap then return answer, ends end
    if answer.reason == "late" then late = true elseif not answer.failed then over_cap = true end
    local last, following = true, {}
    for d = 1, count do
      local at = positions[d]
      if answer.reason == "late" then
        following[d] = (at + #values[d] + 1) // 2
      else
        ends[d] = math.min(#values[d], math.max(2, at))
        following[d] = at == 2 and 1 or (at + 1) // 2
      end
      last = last and following[d] == at
    end
    if last or (late and over_cap) then break end
    positions = following
  end
  return nil, ends, late
end

local function probe_each_knob(from, ends)
  for d = 1, count do
    local at = from.positions[d]
    local to = ends[d] > at and ends[d] or at < #values[d] and #values[d] or 1
    while measurements_left > 0 and to ~= at do
      local answer = ask(changed(from.positions, d, to))
      learn_step(from, answer)
      if answer.ok or math.abs(to - at) == 1 then break end
      to = (at + to) // 2
    end
  end
end

local function fastest_within()
  local fastest
  for _, answer in pairs(measured) do
    local cost = energy and answer.energy_j or answer.sample_ms
    if answer.keeps_cap and answer.batch == batch and (not fastest or cost < fastest.cost) then
      fastest = answer
      fastest.cost = cost
    end
  end
  return fastest
end

-- Slopes that were measured elsewhere may promise more than there is: together the knobs wait for no more
-- than the whole time at `from`, and draw no more than most of its power.
local function fit_slopes(from)
  local waited, drawn = 0, 0
  for d = 1, count do
    local value = values[d][from.positions[d]]
    waited, drawn = waited + waits[d] / value, drawn + draws[d] * value
  end
  local less_wait = math.min(1, from.sample_ms / waited)
  local less_draw = math.min(1, most_draw * from.power / drawn)
  for d = 1, count do waits[d], draws[d] = waits[d] * less_wait, draws[d] * less_draw end
end

-- One change of a knob, or of one up and another just as far down as that takes, that gains most.
-- A sample takes `longest` at most.
local function best_change(positions, time, power, limit, longest)
  local most, chosen = 1e-6, nil
  local now = cost_of(time, power)
  local function gain_of(time_after, power_after)
    return 1 - cost_of(time_after, power_after) / now
  end
  for d = 1, count do
    for to = 1, highest[d] do
      local time_after = time + time_change(d, positions[d], to)
      local power_after = power + power_change(d, positions[d], to)
      local gain = gain_of(time_after, power_after)
      if gain > most and power_after <= limit and time_after <= longest then
        most, chosen = gain, { d, to, time = time_after, power = power_after }
      elseif to > positions[d] and power_after > limit and (energy or gain > most) then
        for down = 1, count do
          for down_to = positions[down] - 1, down == d and positions[down] or 1, -1 do
            local drawn = power_after + power_change(down, positions[down], down_to)
            if drawn <= limit then
              local taken = time_after + time_change(down, positions[down], down_to)
              gain = gain_of(taken, drawn)
              if gain > most and taken <= longest then
                most, chosen = gain, { d, to, down, down_to, time = taken, power = drawn }
              end
              break
            end
          end
        end
      end
    end
  end
  return chosen
end

-- Where the slopes lead from `from`, change after change; nil where that is nowhere new. Nothing is slowed
-- down by more than this part of the time that is left until requests are late.
local function best_target(from, margin, part)
  local positions, time, power = { table.unpack(from.positions) }, from.sample_ms, from.power
  local longest = math.huge
  if kind == "infer" and batch then longest = time + part * math.max(0, most_ms(batch) / batch - time) end
  local before = cost_of(time, power)
  for _ = 1, 4 * count do
    local change = best_change(positions, time, power, goal.power_w * (1 - margin), longest)
    if not change then break end
    positions[change[1]], time, power = change[2], change.time, change.power
    if change[3] then positions[change[3]] = change[4] end
  end
  local after = cost_of(time, power)
  if after < (1 - least_gain) * before and not measured[key_of(positions)] then return positions end
end

-- The least time of a minibatch that the slopes allow: every knob at its highest.
local function least_ms(from)
  local sample_ms = from.sample_ms
  for d = 1, count do sample_ms = sample_ms + time_change(d, from.positions[d], highest[d]) end
  return sample_ms * from[kind].minibatch_ms / from.sample_ms
end

local function climb()
  local margin, part = 0, 1
  while measurements_left > 0 do
    local from = fastest_within()
    fit_slopes(from)
    if batch and not beside and not best and least_ms(from) > most_ms(batch) * hopeless then return end
    local positions = best_target(from, margin, part) or best_target(from, 0, part)
    if not positions then return end
    local answer = ask(positions)
    learn_step(from, answer)
    if answer.reason == "late" then
      part = part / 2
    else
      margin = answer.keeps_cap and margin / 2 or answer.failed and margin or margin * 2 + margin_step
    end
  end
end

local middle = {}
for d = 1, count do middle[d] = (#values[d] + 1) // 2 end
local tried = 1
batch = batches[1]
if beside then measurements_left = 2 * count + 1 end
local from, ends, late = first_within(middle)
while not from and late and tried < #batches do
  tried = tried + 1
  batch, measurements_left = batches[tried], measurements_left + measurements_a_batch
  from, ends, late = first_within(middle)
end
-- A batch that the middle is far too late for is not worth its slopes, where the next one is less so.
local function lateness(answer) return answer.infer.minibatch_ms / most_ms(answer.batch) end
while beside and from and tried < #batches and lateness(from) > reachable do
  batch = batches[tried + 1]
  local smaller = first_within(from.positions)
  if not smaller or lateness(smaller) > lateness(from) then break end
  from, tried = smaller, tried + 1
end
if beside and from then batch = from.batch end -- the last one tried may be left behind
if from then
  expect_equal_shares(from)
  probe_each_knob(from, ends)
  climb()
end
-- The next batch size, from the fastest mode so far: where requests are late, and, unless they come like
-- clockwork and their latency is to be least, as long as larger batches are better.
local smallest_is_best = goal.objective == "latency" and not goal.one_by_one
for i = tried + 1, from and #batches or 0 do
  if best and (smallest_is_best or best.batch ~= batch) then break end
  local before = fastest_within()
  batch, measurements_left = batches[i], measurements_left + measurements_a_batch
  from = first_within(before.positions)
  if not from then break end
  for d = 1, count do waits[d] = waits[d] * from.sample_ms / before.sample_ms end
  climb()
end

-- What was measured under another goal may be better still.
for i = 1, #observations do
  local known = observations[i]
  if known.within and (not best or known.value < best.value) then best = known end
end
if not best then
  log("nothing measured keeps the goal")
  return nil
end
local units = { energy = "J a sample", latency = "s of latency", weighted = "of the reference's cost",
  target = "J a sample (time has a price)" }
log(string.format("chose %.4g %s at %.1f W", best.value, units[goal.objective] or "s a sample", best.power_w))
return best.setting
