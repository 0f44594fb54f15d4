-- PowerTrain, verified: networks that were trained on another workload are taken over with a few modes
-- that cover the space, and their best predictions are measured, from the cap downwards. What is held
-- is the best setting that was measured to keep the goal.
--
-- The method is "PowerTrain" (doi:10.1016/j.future.2024.07.001), which looks the cap up in the predicted
-- Pareto front and trusts what it says. Ours are two things: modes are chosen to cover the space below
-- the cap, not at random, and nothing is held that was not measured. The modes to cover it with are
-- taken by the power that the board's model predicts; where there is no model, from the whole space.

local cover, verify = 9, 6 -- measurements to learn from, and of predictions
local sure = 1 -- standard deviations of power below the cap while it learns
local step_down = 0.98 -- after a mode over the cap, predictions below this part of its own come next
local least_gain = 0.002 -- of the value; less is not worth a measurement

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

-- The next mode that covers the space. Without a model every mode is as good as another.
local expected = roofline.known and roofline.prior() or nil
local function next_mode()
  if not roofline.known then return modes[1 + (#tried * 7 * #modes // 19) % #modes] end
  local surface = roofline.surface(roofline.fit(nil, expected))
  for i = 1, #tried do surface:exclude(tried[i]) end
  return (surface:farthest({ power_w = goal.power_w, deviations = sure }))
end

while #tried < cover - 1 do
  local setting = next_mode()
  if not setting then break end
  keep(measure(setting))
end
-- The lowest mode last: it has to be in force while the networks are trained.
keep(remeasure(safe))

if measured >= 3 then
  local surface = predict.transfer()
  for i = 1, #tried do surface:exclude(tried[i]) end
  local limit_w = goal.power_w - margin_w
  for _ = 1, verify do
    local setting, prediction = surface:best({ power_w = limit_w })
    if not setting or (best and prediction.value > best.value * (1 - least_gain)) then break end
    surface:exclude(setting)
    if not keep(measure(setting)).within then
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
