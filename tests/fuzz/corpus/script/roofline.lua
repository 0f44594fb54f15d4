for i = 1, 4 do measure(modes[i]) end
local m = roofline.fit(nil, roofline.prior())
local s = roofline.surface(m)
local a, p = s:best({ power_w = 25, deviations = 1, time_deviations = -1 })
if a then s:exclude(a) measure(a) log(p.minibatch_ms .. s:at(a).power_w .. m.A) end
local b = s:least_known({ deviations = -0.5 })
return pareto.front(s:front(), "gpu_mhz", "cpu_cores")[1] or b
