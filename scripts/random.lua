-- Measures settings drawn at random and holds the best of those that keep the goal: what a search
-- has to beat. Every value of every knob and batch size is equally likely.

local tries = 10 -- about what the searches measure

-- Settings drawn twice do not count; a grid that is nearly used up ends the draw.
local best, measured = nil, {}
for _ = 1, 10 * tries do
  local setting, key = {}, {}
  for d, dimension in ipairs(dimensions) do
    key[d] = math.random(#dimension.values)
    setting[dimension.name] = dimension.values[key[d]]
  end
  key = table.concat(key, " ")
  if not measured[key] then
    measured[key] = true
    local answer = measure(setting)
    if answer.within and (not best or answer.value < best.value) then best = answer end
    tries = tries - 1
    if tries == 0 then break end
  end
end
return best and best.setting
