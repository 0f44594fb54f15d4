"""The scripts that learn for ever, live on virtual boards."""

import json
import os
import signal
import unittest

from harness import Stack

WEIGHTED = ["--objective", "weighted", "--energy-weight", "0.5"]


def cost(observation, reference):
    """What `answer.value` is under WEIGHTED: 1 in the reference."""
    ratios = [observation["train"][name] / reference["train"][name] for name in ("energy_j", "sample_ms")]
    return sum(ratios) / 2


def setting_of(note):
    return {name: value for name, value in note["setting"].items() if name != "run"}


class Learning(unittest.TestCase):
    def observe(self, daemon, count):
        """Reads on until the daemon has measured so many settings; all of them."""
        while len(daemon.notes("observation")) < count:
            daemon.note("observation")
        return daemon.notes("observation")

    def replays(self, stack, recording):
        done = stack.gearshift("replay", recording, "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual((result["equal"], result["complete"]), (True, True))


class OnVirtualBoards(Learning):
    """One board a script; both run side by side, as a measurement is mostly waiting."""

    def setUp(self):
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            self.skipTest("needs /dev/fuse, for virtual boards")

    def end(self, stack, daemon, knobs):
        self.assertEqual(daemon.finish(signal.SIGINT), 0)
        self.assertEqual(stack.knobs(), knobs)
        self.assertEqual(daemon.summary()["policy_errors"], 0)
        self.replays(stack, stack.folder / "run.db")

    def keeps(self, cap_w, observations):
        """Nothing over the cap is taken for a setting that may be held."""
        self.assertTrue(any(seen["ok"] for seen in observations))
        for seen in observations:
            self.assertEqual(seen["reason"], "complete" if seen["ok"] else "over_limit")
            self.assertEqual(seen["ok"], seen["power_w"] <= cap_w, seen)

    def test_both_scripts_come_to_cheaper_settings_and_keep_the_cap(self):
        with Stack(noise="0%") as free, Stack(noise="0%") as capped:
            boards = ((free, "thompson", None), (capped, "ogd", "30W"))
            knobs = [stack.knobs() for stack, _, _ in boards]
            thompson, ogd = [
                stack.daemon(policy, *WEIGHTED, "--record", stack.folder / "run.db", power=power)
                for stack, policy, power in boards
            ]
            for stack, _, _ in boards:
                stack.trainer("--batch-sizes", "16,32,64", "--jitter", "0%")

            seen = self.observe(thompson, 12)
            highest = seen[0]
            self.assertEqual((highest["setting"]["cpu_cores"], highest["setting"]["gpu_mhz"]), (12, 1300.5))
            self.assertLess(min(cost(one, highest) for one in seen), 0.95)
            self.assertGreater(len({one["setting"]["train_batch"] for one in seen}), 1)

            # A cap in mid-learning: what is known stays, and what is over it is left.
            self.assertEqual(free.gearshift("cap", "30W", "--control", free.control).returncode, 0)
            self.assertEqual(thompson.note("goal")["cap_w"], 30)
            known = len(thompson.notes("observation"))
            seen = self.observe(thompson, known + 7)[known:]
            if seen[0]["reason"] == "goal_changed":
                seen = seen[1:]
            self.keeps(30, seen)
            self.end(free, thompson, knobs[0])

            seen = self.observe(ogd, 16)
            self.keeps(30, seen)
            self.assertEqual(seen[0]["reason"], "over_limit")  # from the highest setting
            reference = setting_of(ogd.first("reference"))
            reference = next(one for one in seen if setting_of(one) == reference)
            self.assertLess(min(cost(one, reference) for one in seen if one["ok"]), 0.95)
            self.end(capped, ogd, knobs[1])
            summary = ogd.summary()
            self.assertLess(summary["energy_j"] / summary["duration_s"], 30)


if __name__ == "__main__":
    unittest.main(verbosity=2)
