"""Training beside requests that come every few seconds, or once a minute."""

import json
import unittest

from harness import Stack


class RareRequestsTest(unittest.TestCase):
    def simulated(self, rate, latency, seed):
        with Stack(board=False) as stack:
            recording = stack.folder / "rare.db"
            done = stack.gearshift(
                "simulate", "--problem", "concurrent", "--board", "jetson-agx-orin", "--workload", "resnet18",
                "--infer-workload", "mobilenet_v3", "--power", "30W", "--arrivals", f"poisson:{rate}", "--latency", latency,
                "--policy", "bayes", "--duration", "1h", "--hold", "30m", "--seed", seed, "--json", "--record", recording,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            again = stack.gearshift("replay", recording)
            self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
            return json.loads(done.stdout)

    def test_a_request_every_ten_seconds_leaves_the_rest_to_training(self):
        for seed in ("1", "2"):
            result = self.simulated("0.1", "20s", seed)
            requests = result["requests"]
            # A client reports nothing while nothing comes: one request in ten seconds was taken for one a second, each gap
            # of five for the end of all requests, and a batch of sixteen was given half a minute to fill.
            self.assertLess(requests["late"], 0.04 * requests["arrived"], requests)
            self.assertGreater(result["phases"][0]["minibatches_per_s"], 0.85 * result["phases"][0]["optimum"], result["phases"])
            self.assertEqual(result["ending"], "held")

    def test_a_request_a_minute_is_answered_in_half_a_second(self):
        for seed in ("1", "2"):
            result = self.simulated("0.02", "500ms", seed)
            requests = result["requests"]
            self.assertGreater(requests["arrived"], 30, requests)
            # Those before the first measurement.
            self.assertLessEqual(requests["late"], 6, requests)
            self.assertGreater(result["phases"][0]["minibatches_per_s"], 8, result["phases"])


if __name__ == "__main__":
    unittest.main()
