-- Measures every setting, lowest values first, and holds the best of those that keep the goal: the
-- optimum, at the price of hours on a board. What is known already is not asked again.

-- A setting's number counts the positions of its values like digits. One bit a setting tells whether
-- it is known, 62 to a word and 1024 words to a page: a list of all would be too long.
local function mark(pages, number)
  local word, bit = number // 62, 1 << (number % 62)
  local page = pages[word // 1024] or {}
  pages[word // 1024] = page
  local bits = page[word % 1024] or 0
  page[word % 1024] = bits | bit
  return bits & bit == 0
end

local best
local function look_at(answer)
  if answer.within and (not best or answer.value < best.value) then best = answer end
end

local digits = {} -- of a value, by dimension
for d, dimension in ipairs(dimensions) do
  digits[d] = {}
  for i, value in ipairs(dimension.values) do digits[d][value] = i - 1 end
end

local known = {}
for i = 1, #observations do
  local answer, number = observations[i], 0
  for d, dimension in ipairs(dimensions) do
    number = number * #dimension.values + (digits[d][answer.setting[dimension.name]] or 0)
  end
  -- One that was cut short under a tighter cap is worth another look.
  if answer.ok or goal.power_w <= answer.limit_w then
    mark(known, number)
    look_at(answer)
  end
end

local setting = {}
local function visit(d, number)
  if d > #dimensions then
    if mark(known, number) then look_at(measure(setting)) end
    return
  end
  local values = dimensions[d].values
  for i = 1, #values do
    setting[dimensions[d].name] = values[i]
    visit(d + 1, number * #values + i - 1)
  end
end
visit(1, 0)
return best and best.setting
