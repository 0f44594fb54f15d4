-- Multi-dimensional binary search.
local names, range = {}, {}
for _, name in ipairs(knobs.names) do names[#names + 1] = name; range[name] = { 1, #knobs[name] } end
local best, best_value = nil, math.huge
local turn = 0
while true do
  local setting, open = {}, nil
  for i = 1, #names do
    local name = names[(turn + i - 1) % #names + 1]
    local r = range[name]
    if not open and r[1] < r[2] then open = name end
    setting[name] = knobs[name][(r[1] + r[2]) // 2]
  end
  local seen = measure(setting)
  if seen.within and seen.value < best_value then best, best_value = setting, seen.value end
  if not open then break end
  local r = range[open]
  local middle = (r[1] + r[2]) // 2
  if seen.within then r[1] = middle + 1 else r[2] = math.max(r[1], middle - 1) end
  turn = turn + 1
end
return best
