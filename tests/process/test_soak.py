"""The soak's short form: some seconds of it, so that `make soak` works on the day it is needed."""

import collections
import json
import subprocess
import sys
import unittest

from harness import DEADLINE_S, SOURCE, skip_all

sys.path.insert(0, str(SOURCE / "tests/soak"))
from leaks import BOUND_KIB_PER_MINUTE, LEAST_SPAN_S, Watched, theil_sen  # noqa: E402

SOAK = SOURCE / "tests/soak/soak.py"


def soak(*arguments):
    return subprocess.run(
        [sys.executable, SOAK, *map(str, arguments)],
        capture_output=True, text=True, timeout=3 * DEADLINE_S,
    )


def watched(kib_of, descriptors_of=lambda second: 50):
    """A process of ten minutes that was never run."""
    one = Watched("nobody", 0)
    one.samples = [
        (float(second), kib_of(second), count, 3, collections.Counter(socket=count))
        for second in range(600)
        for count in [descriptors_of(second)]
    ]
    return one.report()


class Leaks(unittest.TestCase):
    def test_a_leak_is_told_from_steps_bursts_and_warm_up(self):
        self.assertEqual(watched(lambda second: 5000)["leaks"], [])
        self.assertEqual(watched(lambda second: 5000 + min(second, 100) * 20)["leaks"], [])
        self.assertEqual(watched(lambda second: 5000 + 132 * (second > 300))["leaks"], [])
        self.assertEqual(watched(lambda second: 5000 + 4000 * (500 < second < 560))["leaks"], [])
        leaking = BOUND_KIB_PER_MINUTE * 1.1 / 60
        self.assertEqual(watched(lambda second: 5000 + leaking * second)["leaks"], ["memory"])

    def test_what_floods_leave_for_a_while_hides_no_leak_and_is_none(self):
        def flooded(second):
            return 5000 + 3000 * max(0, 1 - second % 300 / 100)

        self.assertEqual(watched(flooded)["leaks"], [])
        leaking = BOUND_KIB_PER_MINUTE * 1.1 / 60
        self.assertEqual(watched(lambda second: flooded(second) + leaking * second)["leaks"], ["memory"])

    def test_descriptors_may_come_and_go_but_not_stay(self):
        comes = watched(lambda second: 5000, lambda second: 50 + second % 7)
        self.assertEqual(comes["leaks"], [])
        stays = watched(lambda second: 5000, lambda second: 50 + second // 400 + second % 7)
        self.assertEqual(stays["leaks"], ["descriptors"])
        self.assertEqual(stays["new_descriptors"], {"socket": 1})

    def test_of_a_short_life_nothing_is_judged(self):
        one = Watched("nobody", 0)
        one.samples = [(float(s), 100 * s, s, 3, {}) for s in range(int(LEAST_SPAN_S))]
        self.assertEqual((one.report()["judged"], one.report()["leaks"]), (False, []))

    def test_the_line_is_the_median_of_all_slopes(self):
        self.assertEqual(theil_sen([(0, 0), (1, 1), (2, 2), (3, 3), (4, 90)]), 1)


class Soak(unittest.TestCase):
    def test_a_short_one_passes_and_tells_what_it_did(self):
        quick = ("sensor_fails", "knob_refuses", "trainer_is_killed", "script_is_broken",
                 "cap_changes", "second_daemon_is_started")  # and at the end it is stopped
        chosen = [word for name in quick for word in ("--episode", name)]
        done = soak("--minutes", 0.05, "--hours", 0.5, "--seed", 3, "--json", *chosen)
        if done.returncode == 77:
            skip_all(done.stdout.strip())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        result = json.loads(done.stdout)
        self.assertTrue(result["passed"])
        self.assertGreaterEqual(result["live"]["faults"], 2)
        self.assertIn("operator_stops_it", result["live"]["episodes"])

    def test_an_episode_that_is_none_is_refused_by_name(self):
        done = soak("--episode", "none_of_these")
        self.assertEqual(done.returncode, 2)
        self.assertIn("none_of_these", done.stderr)


if __name__ == "__main__":
    unittest.main()
