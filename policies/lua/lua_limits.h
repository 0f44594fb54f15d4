// What a policy script may use: the price of running text that anyone may have written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "controller/think_time.h"

namespace gearshift {

struct LuaLimits {
  // All that one Lua state may hold, the state itself (about 25 KiB) included. The observations and
  // the list of modes live outside it.
  std::size_t memory_bytes = std::size_t{1} << 20;
  // The largest single block: one table (4096 list entries or 2048 names) or the call stack. One
  // instruction may copy a block, so this bounds what an instruction costs.
  std::size_t block_bytes = std::size_t{64} << 10;
  // The longest string. Joining or comparing strings is one instruction whatever their length.
  std::size_t string_bytes = 1024;
  // The longest script: compiling is not interrupted.
  std::size_t text_bytes = std::size_t{64} << 10;
  // Between two real answers. An instruction takes 5 to 10 ns at full clocks and 20 times that on a
  // Jetson core at 115 MHz: 2 million stay within 0.4 s there, so a script that loops costs the
  // guard less than one power window (430 ms).
  std::int64_t instructions_per_answer = 2'000'000;
  // What an answer from memory costs of that budget, which it does not renew: a script that asks
  // for known settings for ever ends after 2000 of them.
  std::int64_t charge_per_memory_hit = 1000;
  // Instructions are not alike: a few of them may take milliseconds. Borrowed; null where a script
  // may take its time, as in virtual time, where nobody waits for it.
  ThinkTime* think_time = nullptr;
};

}  // namespace gearshift
