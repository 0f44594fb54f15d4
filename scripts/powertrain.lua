-- PowerTrain, verified: networks that were trained on another workload are taken over with a few modes
-- that cover the space, and their best predictions are measured, from the cap downwards. What is held
-- is the best setting that was measured to keep the goal.
--
-- The method is "PowerTrain" (doi:10.1016/j.future.2024.07.001), which looks the cap up in the predicted
-- Pareto front and trusts what it says. Ours are two things: modes are chosen to cover the space below
-- the cap, by the power that the board's model predicts where there is one, not at random; and nothing is
-- held that was not measured.

local cover, verify = 9, 6 -- measurements to learn from, and of predictions
local step_down = 0.98 -- after a mode over the cap, predictions below this part of its own come next

local best, margin_w, measured, tried = nil, 0, 0, {}

local function keep(answer)
  if answer.ok then
    margin_w = math.max(margin_w, answer.power_margin_w)
    measured = measured + 1
  end
  if answer.within and (not best or answer.value < best.value) then best = answer end
  tried[#tried + 1] = answer.setting
  return answer
end

for i = 1, #observations do keep(observations[i]) end

-- The next mode that covers the space: points of a sequence that fills a cube evenly (Roberts' R), those
-- that are predicted to be below the cap.
local expected = roofline.known and roofline.prior() or nil
local point = 0
local ratio = 1.5 -- becomes the root of x^(n+1) = x + 1
for _ = 1, 30 do ratio = (1 + ratio) ^ (1 / (#dimensions + 1)) end

local function sequence_setting()
  point = point + 1
  local setting = {}
  for d = 1, #dimensions do
    local values = dimensions[d].values
    local place = (0.5 + point / ratio ^ d) % 1
    setting[dimensions[d].name] = values[1 + math.floor(place * #values)]
  end
  return setting
end

local function next_mode()
  if not roofline.known then return sequence_setting() end
  local model = roofline.fit(nil, expected)
  for _ = 1, 200 do
    local setting = sequence_setting()
    if roofline.predict(model, setting).power_w <= goal.power_w then return setting end
  end
end

while #tried < cover - 1 do
  local setting = next_mode()
  if not setting then break end
  keep(measure(setting))
end
-- The lowest mode last: it has to be in force while the networks are trained.
local lowest = keep(remeasure(safe))

if lowest.ok and measured >= 3 then
  local surface = predict.transfer()
  for i = 1, #tried do surface:exclude(tried[i]) end
  local limit_w = goal.power_w - margin_w
  for _ = 1, verify do
    local setting, prediction = surface:best({ power_w = limit_w })
    if not setting then break end
    surface:exclude(setting)
    local answer = keep(measure(setting))
    if answer.within then -- what it draws near the cap tells how far off the networks are there
      limit_w = (goal.power_w - margin_w) * prediction.power_w / answer.power_w
    else
      limit_w = math.min(limit_w, prediction.power_w * step_down)
    end
  end
end

if not best then
  log("nothing measured keeps the goal")
  return nil
end
log(string.format("best of %d measured: %.1f W", #tried, best.power_w))
return best.setting
