-- Bayesian optimisation: measures the setting whose expected improvement, times its odds to keep the
-- goal, is largest, learns from it, and stops where nothing is worth another measurement.
--
-- The model (gp) is a Gaussian process around the board's cost model, with what --prior has of another
-- workload as its first guess. A probe over the cap is cut short by the guard, and costs trust: each one
-- makes the next dearer, so the cap is approached from below and seldom crossed.

local most_probes = #modes <= 1000 and 10 or 15  -- a search; twelve where batch sizes are searched too
if #dimensions > #knobs.names and most_probes < 12 then most_probes = 12 end
-- Odds to keep the cap that a probe must have: they rise with every probe over it but the first two.
local least_odds, most_odds = 0.15, 0.6
local least_gain = 0.0005   -- expected, below which a probe is not worth it
local hopeless = 0.002      -- odds below which nothing is expected to keep the goal
local few_probes = 4        -- so many are made before anything is hopeless, unless two were over the cap
local fair = hopeless       -- odds below which the model is doubted before they are taken
-- While nothing is known to keep the goal: the odds after so many probes over the cap.
local careful = { least_odds, 0.5, 0.9, 0.99 }
local most_failures = 2     -- settings in a row that taught nothing (far too slow, say)
local most_refused = 30     -- settings that the board would not take: they cost no time, and are no probes
local unscaled = 0.5        -- deviation of power, relative, beyond which nothing tells its scale
-- Expected improvement alone likes small steps that are nearly sure, and spends a search on settings that are
-- all alike: so what lies more than 3 % beyond the best comes first, then any improvement. Where the model
-- promises nothing, it may be less sure than it says. The price of a probe over the cap is an improvement
-- that must be expected beyond it: 1 %, where the model is doubted 2.5 %.
local rounds = {
  { doubt = 1, price = 0.01, beyond = 0.03 },
  { doubt = 1, price = 0.01, beyond = 0 },
  { doubt = 2, price = 0.025, beyond = 0 },
}
-- Beside inference whole minibatches count: a setting hardly better may be worth much, and those that
-- answer in time often lie near the cap.
if goal.objective == "throughput" then
  rounds = {
    { doubt = 1, price = 0.02, beyond = 0 },
    { doubt = 2, price = 0.03, beyond = 0 },
    { doubt = 4, price = 0.03, beyond = 0 },
  }
  careful = { least_odds, 0.5, 0.75 }
  -- One by one, requests leave all their time: what is hardly better is worth hardly more.
  if goal.one_by_one then
    fair = 0.2
    rounds = {
      { doubt = 1, price = 0.01, beyond = 0.03 },
      { doubt = 1, price = 0.01, beyond = 0 },
      { doubt = 2, price = 0.025, beyond = 0 },
    }
  end
end
-- Of requests that come one by one, settings that answer late are found out within seconds.
if goal.one_by_one then most_failures = 4 end
-- What a table promises is not contradicted by one measurement or two. So after those the model is taken to be
-- eight times as unsure before a search ends, instead of the second question: there are instructions for three.
local few_known = 3
local checks = { rounds[1], rounds[3], { doubt = 8, price = rounds[3].price, beyond = 0, odds = most_odds } }
local despair = { 1, 4 }  -- doubts, while nothing is known to keep the goal
local nearly_sure = 0.9     -- odds to keep the goal, of what a table of the workloads themselves promises
local noisy = 0.06          -- of power: a margin beyond it is twice what noise of 2 % leaves
local most_over = 2         -- settings of a batch size over the cap, then: others have their turn first

-- Where nothing keeps the goal with both at work, training waits for what serves requests alone: after a few
-- settings, and before those that hardly promise to, up to so many are measured for that.
local beside_requests = goal.objective == "throughput" and goal.one_by_one and batch_sizes.train and batch_sizes.infer
local serves_alone = beside_requests  -- until it was looked for
local few_tried, most_alone = 4, 8

local most_recalled = 256   -- answers of before: more are not learnt in the instructions that there are

-- Where the batch size of training is all there is to choose, and nothing tells what one draws, power rises with
-- it: the smallest comes first, and no other that is further up than the next one.
local ladder = #knobs.names == 0 and #dimensions == 1 and goal.power_w < math.huge and #prior == 0
  and dimensions[1].name == "train_batch" and dimensions[1]
local fits = {}  -- by batch size

local best, known, probes, over, failures, refused = nil, 0, 0, 0, 0, 0
local alone  -- the best answer of inference while training waits

-- ms that inference is busy for a request.
local function busy(answer) return answer.infer.minibatch_ms / answer.setting.infer_batch end

-- Of equals, what is least: power. Beside inference, ms of a training minibatch in the time that requests
-- leave over, whole minibatches or not; where nothing can train, ms that inference is busy for a request,
-- since what is busy for the least time keeps the latency when requests come in bursts.
local function spare(answer)
  if goal.objective ~= "throughput" or not answer.setting.infer_batch then return answer.power_w end
  local busy_ms = busy(answer)
  if answer.value == math.huge then return busy_ms end
  return answer.train.minibatch_ms / (1 - goal.arrivals_per_s * busy_ms / 1000)
end

-- Whether the answer taught anything.
local function take(answer)
  local learnt = gp.learn(answer)
  if beside_requests and answer.setting.run == "infer" then
    -- Requests leave pauses, but not in each window of those that the guard judges.
    local fits = answer.within and answer.power_max_w <= goal.power_w
    if fits and (not alone or answer.power_max_w < alone.power_max_w) then alone = answer end
    return learnt
  end
  known = known + 1
  local over_limit = answer.reason == "over_limit"
  local cut_lower = over_limit and answer.limit_w < goal.power_w -- says nothing of the cap that there is now
  if ladder and not cut_lower then
    fits[answer.setting[ladder.name]] = not over_limit and (answer.power_w or 0) <= goal.power_w
  end
  local better = answer.within and (not best or answer.value < best.value
    or (answer.value == best.value and spare(answer) < spare(best)))
  if better then best = answer end
  return learnt
end

-- One by one, a batch need not be full.
if batch_sizes.infer and goal.arrivals_per_s > 0 and (not batch_sizes.train or goal.objective == "throughput")
  and not goal.one_by_one and 1000 * batch_sizes.infer[1] / goal.arrivals_per_s >= goal.latency_ms then
  log("no batch size is full in time for the latency")
  return nil
end

for _, i in ipairs(recall(most_recalled)) do take(observations[i]) end

local function may_serve_alone() return serves_alone and not best and not alone and known >= few_tried end

-- Odds below which no setting is worth a probe while nothing is known to keep the goal. One late answer of a
-- small batch makes all larger ones hopeless by the model, which may be wrong.
local function slight()
  return probes < few_probes and over <= 1 and goal.objective ~= "throughput" and 1e-12 or hopeless
end

-- The next setting to measure; nil where none is worth it.
local function choose()
  if best then
    local odds = math.min(most_odds, least_odds * math.max(1, over - 1))
    local asked = 0
    for _, round in ipairs(known < few_known and probes > 0 and checks or rounds) do
      -- A search that starts over with what it knows has instructions for two questions, not for three.
      if probes > 0 or (round.beyond == 0 and asked < 2) then
        asked = asked + 1
        -- Where the best leaves no time to train, any other is worth a probe over the cap.
        local trains = best.value < math.huge
        local probe = gp.next { best = best.value * (1 - round.beyond), power_odds = round.odds or odds,
          price = trains and round.price or 0, doubt = round.doubt }
        if probe and probe.gain > least_gain then return probe end
      end
    end
    -- Where nothing can train, requests should at least be in time when they come in bursts.
    if goal.objective == "throughput" and best.value == math.huge and probes > 0 then
      local probe = gp.next { best = best.value, power_odds = odds, busy_ms = spare(best) }
      if probe and probe.gain > least_gain then return probe end
    end
    return nil
  end
  -- The likeliest of all comes first, since requests are served by what fits surely, should the cap fall. Where
  -- even that was late, others as slow will be: time goes to what promises most of what is nearly sure.
  if (goal.objective == "throughput" or goal.one_by_one) and probes > 0 then
    local sure = gp.next { power_odds = nearly_sure }
    if sure and sure.odds >= nearly_sure then return sure end
  end
  local odds = careful[math.min(over + 1, #careful)]
  local likeliest
  for _, doubt in ipairs(despair) do
    local probe = gp.next { power_odds = odds, safest = slight(), doubt = doubt, most_over = most_over }
    if probe and probe.odds >= slight() and (not likeliest or probe.odds > likeliest.odds) then likeliest = probe end
    if likeliest and likeliest.odds >= fair then return likeliest end
    if may_serve_alone() then return likeliest end
  end
  return likeliest
end

local function step_up()
  for _, size in ipairs(ladder.values) do
    if fits[size] == nil then return size end
    if not fits[size] then return nil end
  end
end

-- Where nothing but an unusual margin for noise is over the cap, another look shows less of it.
local function look_at(setting)
  local answer = measure(setting)
  local doubtful = answer.ok and not answer.within and answer.power_w <= goal.power_w
    and answer.power_w + answer.power_margin_w > goal.power_w and answer.power_margin_w > noisy * answer.power_w
  if doubtful and (not best or answer.value < best.value) then return remeasure(setting) end
  return answer
end

-- The first that serves will do: training waits in any of them. Whether anything was measured.
local function serve_alone()
  local cut = 0
  for i = 1, most_alone do
    local probe = gp.next { run = "infer", power_odds = careful[math.min(cut + 1, #careful)], safest = hopeless }
    if not probe then return i > 1 end
    local answer = look_at(probe.setting)
    take(answer)
    if alone then return true end
    if answer.reason == "over_limit" then cut = cut + 1 end
  end
  return true
end

-- A board without a model may draw a watt or a kilowatt. Where that decides, the setting that is held anyway tells
-- which; and nothing is called hopeless before anything was measured.
local first = ladder and { [ladder.name] = ladder.values[1] } or safe
local function scale_matters(probe) return probe.power_deviation > unscaled and probe.power_odds < 1 - hopeless end

while probes < most_probes do
  local probe = choose()
  if may_serve_alone() and (not probe or probe.odds < fair) then
    if serve_alone() then probe = choose() end
    serves_alone = false
  end
  if known == 0 and (not probe or scale_matters(probe)) then probe = { setting = first } end
  local size = probe and ladder and step_up()
  if not probe or (ladder and not size) then break end
  if ladder and probe.setting[ladder.name] > size then probe.setting = { [ladder.name] = size } end
  probes = probes + 1
  local answer = look_at(probe.setting)
  if answer.reason == "over_limit" then over = over + 1 end
  local learnt = take(answer) or answer.ok
  if (answer.reason == "refused" or answer.reason == "not_applied") and refused < most_refused then
    refused, probes = refused + 1, probes - 1
  else
    failures = learnt and 0 or failures + 1
  end
  -- Each such makes requests late that were in time.
  if not best and failures == most_failures then break end
end

if not best and alone then
  log(string.format("nothing measured trains beside requests within the goal: training waits, and requests keep " ..
    "the accelerator busy for %.2g of the time at %.1f W", goal.arrivals_per_s * busy(alone) / 1000, alone.power_w))
  return alone.setting
end
if not best then
  log("nothing measured keeps the goal")
  return nil
end
local units = { time = "s a sample", energy = "J a sample", latency = "s of latency",
  weighted = "of the reference's cost", target = "J a sample (time has a price)",
  throughput = "s a training sample" .. (workload.infer and " beside inference" or "") }
log(string.format("chose %.4g %s at %.1f W after %d probes", best.value, units[goal.objective], best.power_w, probes))
return best.setting
