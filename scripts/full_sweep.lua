-- Measures every setting that can be the best, and holds the best of those that keep the goal: the
-- optimum, at the price of hours on a board. What is known already is not asked again, so after a
-- restart it goes on where `observations` end.
--
-- Order: the least value predicted by the board's model first, where there is one; then what is left,
-- clocks downwards. As full_sweep_descend.lua it takes that order alone, for a board that takes a
-- higher clock only after a reboot: what such a board refuses is not asked again.
-- Early exit: a lower value of a knob makes no setting faster, so a setting is left out once two slower
-- ones, with no knob lower, say that its time alone makes it dearer than the best, even were it TRUST
-- of theirs.

local only_descend = script == "full_sweep_descend.lua"

local TRUST <const> = 0.6 -- of a time: measured tables have settings that are so much faster than they should be
local MOST_SETTINGS <const> = 12288 -- of a space that early exits have the memory for
local MOST_TOLD <const> = 10000 -- settings that are told of slower ones before the first measurement
local MOST_TOLD_TOO <const> = 2000 -- where predictions take instructions as well
-- Observations with which early exits and the choice begin: few of very many, as passing over the others
-- takes instructions too.
local MOST_RECALLED <const> = #observations > 2048 and 256 or 1024
local MOST_PREDICTED <const> = 1000 -- observations with which predictions are worth their time
local PATIENCE <const> = 64 -- settings left out in a row, after which predictions have no more to say
local FEW_MEASURED <const> = 20 -- settings, until which other workloads are worth the instructions that they take
local REFITS <const> = { 10, 40, 160 } -- settings measured, after which predictions are made anew

-- Lists that are longer than a table may be: 1024 values a page.
local function get(pages, i)
  local page = pages[i // 1024]
  return page and page[i % 1024] or 0
end
local function set(pages, i, value)
  local page = pages[i // 1024] or {}
  pages[i // 1024] = page
  page[i % 1024] = value
end

-- A setting's number counts the positions of its values like digits. One bit a setting tells whether
-- it is known, 62 to a word.
local marks = {}
local function is_known(number) return get(marks, number // 62) & 1 << number % 62 ~= 0 end
local function mark(number)
  local word = number // 62
  set(marks, word, get(marks, word) | 1 << number % 62)
end

local count = 1
local positions = {} -- of a value, by dimension
for d, dimension in ipairs(dimensions) do
  positions[d] = {}
  for i, value in ipairs(dimension.values) do positions[d][value] = i - 1 end
  count = count * #dimension.values
end
local kind = workload.train and goal.objective ~= "latency" and "train" or "infer"
local batch = kind .. "_batch"

local function number_of(setting)
  local number = 0
  for d, dimension in ipairs(dimensions) do
    number = number * #dimension.values + (positions[d][setting[dimension.name]] or 0)
  end
  return number
end

local strides = {} -- what a step of a dimension adds to the number
for d = #dimensions, 1, -1 do
  strides[d] = d == #dimensions and 1 or strides[d + 1] * #dimensions[d + 1].values
end

-- The two longest times of a sample among measured settings that no knob of this one is above.
local longest, second = {}, {}
local visits_left = math.huge

-- `corner` is the number of the highest setting that is left to be told, of those that have the knobs
-- before dimension d as they are. What two longer times are known of, that and all below is told.
local function condemn(at, sample_ms, d, corner)
  if d > #dimensions then
    visits_left = visits_left - 1
    local before = get(longest, corner)
    if sample_ms > before then set(longest, corner, sample_ms) end
    set(second, corner, math.min(before, sample_ms)) -- shorter until now
    return
  end
  for _ = dimensions[d].name == batch and at[d] or 0, at[d] do
    if visits_left <= 0 or get(second, corner) >= sample_ms then return end
    condemn(at, sample_ms, d + 1, corner)
    corner = corner - strides[d]
  end
end

-- The value of time and energy is a sum with these two weights, in what the goal counts; nil as long
-- as not two answers have told them. Beside inference it is no such sum, but never less than a sample takes.
local time_weight, energy_weight
if goal.objective == "throughput" then time_weight, energy_weight = 1e-3, 0 end
local told, least_w
local function learn_weights(answer)
  least_w = math.min(least_w or math.huge, answer.power_w)
  if time_weight or goal.objective == "latency" then return end
  if not told then
    told = answer
    return
  end
  local determinant = told.sample_ms * answer.energy_j - answer.sample_ms * told.energy_j
  if math.abs(determinant) < 0.01 * told.sample_ms * answer.energy_j then return end
  time_weight = (told.value * answer.energy_j - answer.value * told.energy_j) / determinant
  energy_weight = (told.sample_ms * answer.value - answer.sample_ms * told.value) / determinant
end

-- The least that a setting can cost that takes so long, whatever it draws.
local function least_value(sample_ms, size)
  if goal.objective == "latency" then return goal.latency_of(size, sample_ms * size) / 1e3 end
  if not time_weight then return 0 end
  return sample_ms * (math.max(0, time_weight) + math.max(0, energy_weight) * TRUST * least_w / 1e3)
end

local best
local measured, left_out = 0, 0
local function look_at(number, answer)
  if answer.within and (not best or answer.value < best.value) then best = answer end
  if not answer.ok or count > MOST_SETTINGS then return end
  if answer.sample_ms == math.huge then return end -- requests left no time to train
  learn_weights(answer)
  local at = {}
  for d, dimension in ipairs(dimensions) do
    at[d] = positions[d][answer.setting[dimension.name]] or 0
  end
  condemn(at, answer.sample_ms, 1, number)
end

local function hopeless(number, setting)
  local sample_ms = get(second, number)
  if not best or sample_ms == 0 then return false end
  return least_value(TRUST * sample_ms, setting[batch] or workload[kind].batch_size) > best.value
end

local last_setting -- that was applied

local function learn(number, answer)
  mark(number)
  measured = measured + 1
  look_at(number, answer)
end

-- Slow settings were measured last, and what they tell need not be told again; without an end to it a
-- long list would take all instructions that there are before the next measurement.
local predicts = roofline.known and count <= MOST_SETTINGS and #observations <= MOST_PREDICTED and not only_descend
visits_left = predicts and MOST_TOLD_TOO or MOST_TOLD
local recalled = recall(MOST_RECALLED)
for i = #recalled, 1, -1 do
  local answer = observations[recalled[i]]
  local number = number_of(answer.setting)
  -- One that was cut short under a tighter cap is worth another look, and so is one that was late at a higher rate.
  local answers = answer.ok or goal.power_w <= answer.limit_w and (answer.reason ~= "late" or known(answer.setting))
  if answers and not is_known(number) then learn(number, answer) end
end
visits_left = math.huge

-- False where the setting is left out.
local function try(setting, number)
  if is_known(number) then return true end
  if #observations > MOST_RECALLED and known(setting) then
    mark(number)
    measured = measured + 1
    return true
  end
  if hopeless(number, setting) then return false end
  local answer = measure(setting)
  learn(number, answer)
  if answer.ok then last_setting = answer.setting end
  return true
end

-- Least predicted value first, as long as predictions say anything.
local function sweep_predicted()
  local surface, skipped, refit = nil, 0, 1
  local patience = math.min(PATIENCE, 200000 // count) -- in the instructions that there are
  while skipped < patience do
    if not surface or (REFITS[refit] and measured >= REFITS[refit]) then
      while REFITS[refit] and measured >= REFITS[refit] do refit = refit + 1 end
      local expected = measured < FEW_MEASURED and roofline.prior() or nil
      surface = roofline.surface(roofline.fit(nil, expected))
      surface:exclude_known()
    end
    local setting = surface:best()
    if not setting then return end
    surface:exclude(setting)
    skipped = try(setting, number_of(setting)) and 0 or skipped + 1
  end
end
if predicts then sweep_predicted() end

-- Clocks are the outer loops, the one with the fewest values outermost: a clock goes back up as seldom
-- as can be.
local loops = {}
for d in ipairs(dimensions) do loops[d] = d end
local function is_clock(d)
  local name = dimensions[d].name
  return string.sub(name, -4) == "_mhz"
end
table.sort(loops, function(a, b)
  if is_clock(a) ~= is_clock(b) then return is_clock(a) end
  return is_clock(a) and #dimensions[a].values < #dimensions[b].values
end)

local setting = {}
local function visit(loop, number)
  if loop > #loops then
    if not try(setting, number) then left_out = left_out + 1 end
    return
  end
  local d = loops[loop]
  for i = #dimensions[d].values, 1, -1 do
    setting[dimensions[d].name] = dimensions[d].values[i]
    visit(loop + 1, number + (i - 1) * strides[d])
  end
end
visit(1, 0)
log(string.format("%d of %d settings measured, %d cannot be better and are left out", measured, count, left_out))
if only_descend and best then
  for name, value in pairs(best.setting) do
    if string.sub(name, -4) == "_mhz" and last_setting and value > last_setting[name] then
      log(string.format("the best setting needs a reboot: it has %s %g, and the sweep ended at %g", name, value, last_setting[name]))
    end
  end
end
return best and best.setting
