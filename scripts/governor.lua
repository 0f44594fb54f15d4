-- What the board does when nobody sets its clocks: the Linux and NVIDIA governors at full load. They
-- know nothing of the cap, nor of what the work costs. A baseline; it measures nothing.
--
-- A governor is modelled by the mode it settles in when its device is busy for a share of the time:
--   CPU     schedutil asks for 1.25 * share * highest clock (kernel/sched/cpufreq_schedutil.c)
--   GPU     nvhost_podgov raises the clock while the GPU is busy for most of the time
--   memory  follows the bandwidth that is used, and has a floor under load
-- At full load each comes to its highest clock; every core stays on, and batch sizes as they are.

local busy = { cpu_mhz = 1, gpu_mhz = 1, mem_mhz = 1 } -- share of time; others stay at their highest
local headroom = 1.25

local setting = {}
for _, name in ipairs(knobs.names) do
  local values = knobs[name]
  local highest = values[#values]
  local wanted = headroom * (busy[name] or 1) * highest
  setting[name] = highest
  for i = #values, 1, -1 do
    if values[i] >= wanted then setting[name] = values[i] end
  end
end
return setting
