"""A search beside requests that begins under a low cap, where most settings answer late or draw too much."""

import json
import unittest

from harness import Stack


class ColdStart(unittest.TestCase):
    def course(self, stack, train, infer, rate, seed):
        run = stack.gearshift(
            "simulate", "--problem", "concurrent", "--board", "jetson-agx-orin", "--workload", train,
            "--infer-workload", infer, "--arrivals", f"poisson:{rate}", "--latency", "500ms", "--power", "18W",
            "--effects", "lag,noise,quantised,jitter,hotplug", "--hold", "5m", "--duration", "5m", "--seed", seed,
            "--json",
        )  # fmt: skip
        self.assertEqual(run.returncode, 0, run.stderr)
        result = json.loads(run.stdout)
        (phase,), requests = result["phases"], result["requests"]
        return phase["minibatches_per_s"] / phase["optimum"], requests["late"] / requests["arrived"], result["over_s"]

    # What was cut short for late requests used to teach nothing: nothing trained, and in the second of
    # these half of the requests were late.
    def test_settings_that_were_cut_short_lead_to_one_that_trains(self):
        with Stack(board=False) as stack:
            for train, infer, rate in (("resnet18", "mobilenet_v3", 60), ("resnet18", "resnet18", 30)):
                for seed in (1, 2):
                    trained, late, over_s = self.course(stack, train, infer, rate, seed)
                    self.assertGreater(trained, 0.4, (infer, seed))
                    self.assertLess(late, 0.03, (infer, seed))
                    self.assertLess(over_s, 3, (infer, seed))


if __name__ == "__main__":
    unittest.main()
