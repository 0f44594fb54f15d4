"""What the board steps down to in a burst is judged before anything else is tried on top of it."""

import json
import unittest

from harness import Stack

EFFECTS = ("--effects", "lag,noise,quantised,jitter,hotplug", "--hold", "5m", "--json")
BESIDE = (
    "simulate", "--problem", "concurrent", "--board", "jetson-agx-orin", "--workload", "lstm",
    "--infer-workload", "resnet18", "--arrivals", "poisson:60,x5@60s+60s", "--latency", "500ms",
    "--power", "30W", *EFFECTS, "--duration", "150s",
)  # fmt: skip
ALONE = (
    "simulate", "--problem", "infer", "--board", "jetson-agx-orin", "--workload", "mobilenet_v3",
    "--arrivals", "poisson:150,x6@100s+60s", "--latency", "300ms", "--power", "20W", *EFFECTS,
    "--duration", "170s",
)  # fmt: skip


class StepDown(unittest.TestCase):
    def longest_over_cap_s(self, stack, course, seed):
        """Of true power, in virtual time."""
        done = stack.gearshift(*course, "--seed", seed)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["longest_over_cap_s"]

    def test_a_burst_that_nothing_serves_brings_no_long_breach_of_the_cap(self):
        with Stack(board=False) as stack:
            for seed in ("4", "5", "6"):
                self.assertLess(self.longest_over_cap_s(stack, BESIDE, seed), 3, seed)

    def test_what_fitted_a_lone_server_at_fewer_requests_is_not_taken_to_fit_at_more(self):
        with Stack(board=False) as stack:
            for seed in ("3", "4", "8"):
                self.assertLess(self.longest_over_cap_s(stack, ALONE, seed), 1.5, seed)


if __name__ == "__main__":
    unittest.main()
