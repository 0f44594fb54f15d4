"""What the board steps down to in a burst is judged before anything else is tried on top of it."""

import json
import unittest

from harness import Stack

COURSE = (
    "simulate", "--problem", "concurrent", "--board", "jetson-agx-orin", "--workload", "lstm",
    "--infer-workload", "resnet18", "--arrivals", "poisson:60,x5@60s+60s", "--latency", "500ms",
    "--power", "30W", "--effects", "lag,noise,quantised,jitter,hotplug", "--hold", "5m",
    "--duration", "150s", "--json",
)  # fmt: skip
LONGEST_S = 3.0  # of true power


class StepDown(unittest.TestCase):
    def test_a_burst_that_nothing_serves_brings_no_long_breach_of_the_cap(self):
        with Stack(board=False) as stack:
            for seed in ("4", "5", "6"):
                done = stack.gearshift(*COURSE, "--seed", seed)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertLess(json.loads(done.stdout)["longest_over_cap_s"], LONGEST_S, seed)


if __name__ == "__main__":
    unittest.main()
