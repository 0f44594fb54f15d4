-- One setting, written here, whatever the workload does: a baseline, and how an operator pins a mode.
-- A knob that is not named takes the middle of its values; a value the board does not have becomes
-- the highest one below it. Batch sizes that are not named stay as the workload has them.

local wanted = {
  -- cpu_cores = 8, cpu_mhz = 1344, gpu_mhz = 726.75, mem_mhz = 3199, train_batch = 16,
}

local setting = { train_batch = wanted.train_batch, infer_batch = wanted.infer_batch }
for _, name in ipairs(knobs.names) do
  local values = knobs[name]
  local chosen = (#values + 1) // 2
  if wanted[name] then
    chosen = 1
    while chosen < #values and values[chosen + 1] <= wanted[name] do
      chosen = chosen + 1
    end
  end
  setting[name] = values[chosen]
end
return setting
