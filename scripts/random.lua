-- Measures settings drawn at random and holds the best of those that keep the goal: what a search
-- has to beat. Every value of every knob and batch size is equally likely.

local tries = 10 -- about what the searches measure
local most_recalled = 64 -- answers of before: the best of them are among so many

-- Settings drawn twice do not count; a grid that is nearly used up ends the draw.
local best, measured = nil, {}
local function consider(answer)
  if answer.within and (not best or answer.value < best.value) then best = answer end
end

for _ = 1, 10 * tries do
  local setting, key = {}, {}
  for d, dimension in ipairs(dimensions) do
    key[d] = math.random(#dimension.values)
    setting[dimension.name] = dimension.values[key[d]]
  end
  key = table.concat(key, " ")
  if not measured[key] then
    measured[key] = true
    consider(measure(setting))
    tries = tries - 1
    if tries == 0 then break end
  end
end
-- What was measured before, as the reference of a weighted cost is, may be better still.
for _, i in ipairs(recall(most_recalled)) do consider(observations[i]) end
return best and best.setting
