-- What an operator does: the preset mode with the highest nominal budget that is not above the cap.
-- A preset's budget is NVIDIA's name for it, not a measurement: its mean power may be anything.
--
-- Each preset is mapped to the nearest mode not above it: every knob takes its highest value that is
-- not above the preset's. The 15 W and 30 W presets of AGX Orin (and 7 W and 10 W of the smaller
-- boards) also switch off GPU cores, which no knob here does, so their mapped modes are faster and
-- draw more than the presets do.

-- True: measure the presets within the budget, and hold the best that keeps the goal.
local measures = script == "preset_measured.lua"

-- Clocks in MHz; a missing one is not capped. From the nvpmodel files of each board.
local boards = {
  ["AGX Orin"] = {
    highest = { cpu_cores = 12, cpu_mhz = 2201.6, gpu_mhz = 1300.5, mem_mhz = 3199 },
    { "MODE_15W", 15, cpu_cores = 4, cpu_mhz = 1113.6, gpu_mhz = 408, mem_mhz = 2133 },
    { "MODE_30W", 30, cpu_cores = 8, cpu_mhz = 1728, gpu_mhz = 612 },
    { "MODE_50W", 50, cpu_cores = 12, cpu_mhz = 1497.6, gpu_mhz = 816 },
    { "MAXN", 60 },
  },
  ["Orin NX"] = {
    highest = { cpu_cores = 8, cpu_mhz = 1984, gpu_mhz = 918, mem_mhz = 3199 },
    { "10W", 10, cpu_cores = 4, cpu_mhz = 1190.4, gpu_mhz = 612, mem_mhz = 2133 },
    { "15W", 15, cpu_cores = 4, cpu_mhz = 1651.2, gpu_mhz = 612 },
    { "25W", 25, cpu_cores = 8, cpu_mhz = 1497.6, gpu_mhz = 408 },
  },
  ["Orin Nano"] = {
    highest = { cpu_cores = 6, cpu_mhz = 1510.4, gpu_mhz = 624.75, mem_mhz = 2133 },
    { "7W", 7, cpu_cores = 4, cpu_mhz = 960, gpu_mhz = 408, mem_mhz = 2133 },
    { "15W", 15 },
  },
  ["AGX Xavier"] = {
    highest = { cpu_cores = 8, cpu_mhz = 2265.6, gpu_mhz = 1377, mem_mhz = 2133 },
    { "MODE_10W", 10, cpu_cores = 2, cpu_mhz = 1200, gpu_mhz = 520, mem_mhz = 1065.6 },
    { "MODE_15W", 15, cpu_cores = 4, cpu_mhz = 1200, gpu_mhz = 670, mem_mhz = 1331.2 },
    { "MODE_30W_ALL", 30, cpu_cores = 8, cpu_mhz = 1200, gpu_mhz = 900, mem_mhz = 1600 },
    { "MAXN", 65 },
  },
  ["Xavier NX"] = {
    highest = { cpu_cores = 6, cpu_mhz = 1907.2, gpu_mhz = 1109.25, mem_mhz = 1866 },
    { "MODE_10W_4CORE", 10, cpu_cores = 4, cpu_mhz = 1190.4, gpu_mhz = 803.25, mem_mhz = 1600 },
    { "MODE_15W_6CORE", 15, cpu_cores = 6, cpu_mhz = 1420.8, gpu_mhz = 1109.25, mem_mhz = 1600 },
    { "MODE_20W_6CORE", 20, cpu_cores = 6, cpu_mhz = 1420.8, gpu_mhz = 1109.25 },
  },
  ["Nano"] = {
    highest = { cpu_cores = 4, cpu_mhz = 1479, gpu_mhz = 921.6, mem_mhz = 1600 },
    { "5W", 5, cpu_cores = 2, cpu_mhz = 918, gpu_mhz = 640 },
    { "MAXN", 10 },
  },
}

-- The board whose highest values are nearest to those of the knobs.
local function this_board()
  local chosen, least = nil, math.huge
  for name, board in pairs(boards) do
    local distance = 0
    for knob, highest in pairs(board.highest) do
      local values = knobs[knob]
      if values then distance = distance + math.abs(math.log(values[#values] / highest)) end
    end
    if distance < least then chosen, least = name, distance end
  end
  return chosen, boards[chosen]
end

local function not_above(values, wanted)
  local chosen = values[1]
  for _, value in ipairs(values) do
    if value <= wanted then chosen = value end
  end
  return chosen
end

-- The largest batch that fills within half of the latency limit: served in time if it keeps up.
local function batch_size()
  if not batch_sizes.infer or goal.latency_ms == math.huge or goal.arrivals_per_s == 0 then
    return nil
  end
  return not_above(batch_sizes.infer, goal.latency_ms / 2 / 1e3 * goal.arrivals_per_s)
end

local function mapped(preset)
  local setting = { infer_batch = batch_size() }
  for _, name in ipairs(knobs.names) do
    setting[name] = not_above(knobs[name], preset[name] or math.huge)
  end
  return setting
end

-- A board whose knob is its power limit needs no presets.
if knobs.power_limit_w then
  return knobs.power_limit_w[1] <= goal.power_w and mapped({ power_limit_w = goal.power_w }) or nil
end

local name, board = this_board()
local chosen, best
for _, preset in ipairs(board) do
  if preset[2] <= goal.power_w then
    chosen = preset
    if measures then
      local answer = measure(mapped(preset))
      if answer.within and (not best or answer.value < best.value) then best = answer end
    end
  end
end
if not chosen then
  log(string.format("%s has no preset mode of %.4g W or less", name, goal.power_w))
  return nil
end
if measures then return best and best.setting end
log(string.format("%s %s, mapped to the nearest mode not above it", name, chosen[1]))
return mapped(chosen)
