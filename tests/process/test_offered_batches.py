"""A trainer that comes back under its name with other batch sizes is searched for with those."""

import json
import signal
import unittest

from harness import Stack

# Learns from all that is known, as the shipped scripts that fit a model do, and takes the fastest.
LEARN = """
local best
local function take(answer)
  gp.learn(answer)
  if not best or answer.value < best.value then best = answer end
end
for i = 1, #observations do take(observations[i]) end
log(#observations .. " known")
for _, batch in ipairs(batch_sizes.train) do
  take(measure { cpu_cores = 8, cpu_mhz = knobs.cpu_mhz[15], gpu_mhz = knobs.gpu_mhz[3],
                 mem_mhz = knobs.mem_mhz[3], train_batch = batch })
end
return best.setting
"""


class OtherBatches(unittest.TestCase):
    def test_what_is_still_offered_is_used_and_the_search_goes_on(self):
        with Stack(noise="0%") as stack:
            recording = stack.folder / "run.db"
            daemon = stack.daemon(stack.script(LEARN), "--record", recording)

            def search(*batches):
                """What the script knew, what was held, and what the search is said to have tried."""
                offered = [word for batch in batches for word in ("--batch-sizes", str(batch))]
                trainer = stack.trainer("--batch-size", str(batches[0]), *offered, "--jitter", "0%")
                known = daemon.note("policy_log")["text"]
                held = daemon.note("hold")["setting"]["train_batch"]
                told = stack.gearshift("explain", "--json", "--control", stack.control)
                self.assertEqual(told.returncode, 0, told.stderr)
                tried = json.loads(told.stdout)["tried"]
                self.assertEqual(trainer.finish(signal.SIGINT), 0)
                daemon.note("detached")
                return known, held, sorted(one["setting"]["train_batch"] for one in tried)

            self.assertEqual(search(16, 32, 64), ("0 known", 64, [16, 32, 64]))
            self.assertEqual(search(16, 32), ("2 known", 32, [16, 32]))
            self.assertEqual(search(16, 32, 64), ("3 known", 64, [16, 32, 64]))
            self.assertEqual(len(daemon.notes("observation")), 3, "each of them once")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            self.assertEqual(daemon.summary()["policy_errors"], 0)
            replay = stack.gearshift("replay", recording, "--json")
            self.assertEqual(replay.returncode, 0, replay.stdout + replay.stderr)
            result = json.loads(replay.stdout)
            self.assertEqual((result["equal"], result["complete"]), (True, True))


if __name__ == "__main__":
    unittest.main(verbosity=2)
