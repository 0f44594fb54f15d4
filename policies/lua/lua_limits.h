// What a policy script may use: the price of running text that anyone may have written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "controller/think_time.h"

namespace gearshift {

// What one table holds within LuaLimits::block_bytes: Lua doubles each part of a table, and an
// entry of a list takes 16 bytes, a name with its value 24.
inline constexpr std::size_t kMostListEntries = 4096;
inline constexpr std::size_t kMostNames = 2048;

struct LuaLimits {
  // All that one Lua state may hold, the state itself (about 25 KiB) included. The observations and
  // the list of modes live outside it.
  std::size_t memory_bytes = std::size_t{1} << 20;
  // The largest single block: one part of a table (kMostListEntries, kMostNames) or the call stack.
  // One instruction may copy a block, or rehash names that all fall into one chain, so this bounds
  // what an instruction costs. A larger one would not let a script hold or sort all modes of a
  // Jetson AGX Orin: as tables they take over twice its memory, and sorting over 2,500 of their
  // positions spends its instructions.
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
