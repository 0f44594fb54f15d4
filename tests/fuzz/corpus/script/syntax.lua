goto done
do local a <const> = 1; local b <close> = nil end
::done::
local f = function(...) local n = select("#", ...) return ... end
for i = 10, 1, -3 do repeat local x = i & 1 << 2 ~ 3 until not (x >= 0) or true end
while f(1, nil) do break end
return nil --[[ end ]]
