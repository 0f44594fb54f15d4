local t = {3, 1, 2, x = 1, y = {}}
for k, v in pairs(t) do log(string.format("%5s %.2f %d %x", k, 1.5, 7, 255)) end
table.sort(t, function(a, b) return a > b end)
table.insert(t, 2, 9)
table.remove(t, 1)
log(table.concat({1, "a", 2.5}, ",") .. #t .. tostring(nil) .. tonumber("0x1p4"))
log(("abc"):upper():sub(2, -1):byte(1, -1))
log(math.random(1, 6) + math.max(table.unpack({1, 2, 3})) // 1 | select("#", 1, 2))
