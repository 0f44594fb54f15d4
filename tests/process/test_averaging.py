"""Power monitors that average over another while than the board file says: root may set them to."""

import json
import signal
import threading
import time
import unittest

from harness import Stack

SEARCH_S = 45


class TruePower:
    """What the virtual board draws, kept with the daemon's times."""

    def __init__(self, stack, zero):
        self.trace = []
        self._path = stack.mount / ".virtual/true_power_mw"
        self._zero = zero
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self):
        while not self._ended.wait(0.03):
            self.trace.append((time.monotonic() - self._zero, int(self._path.read_text()) / 1000))

    def end(self):
        self._ended.set()
        self._thread.join()

    def most_w(self, begin_s, end_s):
        return max((power for at, power in self.trace if begin_s <= at <= end_s), default=None)


def set_samples(stack, samples):
    for file in sorted((stack.mount / "sys/class/hwmon").glob("*/samples")):
        file.write_text(samples)


class Averaging(unittest.TestCase):
    def test_what_the_monitors_average_over_is_told_with_the_way_out(self):
        with Stack() as stack:
            explain = ("boards", "--explain", "--sysroot", stack.mount)
            self.assertNotIn("averages over", stack.gearshift(*explain).stdout)
            set_samples(stack, "1")
            told = stack.gearshift(*explain).stdout
            self.assertIn("averages over 0.8 ms (samples 1", told)
            self.assertIn("echo 512 > /sys/class/hwmon/", told)
            self.assertEqual(told.count("averages over"), 1, "the other monitor is not of the total")
            run = stack.gearshift(
                "run", "--sysroot", stack.mount, "--listen", stack.endpoint, "--control",
                stack.control, "--state", stack.state, "--duration", "1s"
            )
            self.assertIn("averages over 0.8 ms", run.stdout)

    def test_no_power_is_invented_where_a_reading_is_no_mean(self):
        """33 W were told of 14 W, and settings that fit were lost: they were taken for a mean's beginning."""
        with Stack(noise="0%") as stack:
            set_samples(stack, "1")
            daemon = stack.daemon("bayes", "--seed", "1", power="25W")
            zero = time.monotonic() - daemon.note("status")["time_s"]
            power = TruePower(stack, zero)
            try:
                stack.trainer()
                while daemon.note("status")["time_s"] < SEARCH_S:
                    pass
            finally:
                power.end()
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            seen = [note for note in daemon.notes("observation")]
            self.assertGreater(len(seen), 1)
            for note in seen:
                if note["reason"] != "over_limit":
                    continue
                begin_s = note["time_s"] - max(1.5, note["duration_s"])
                most_w = power.most_w(begin_s, note["time_s"] + 0.1)
                self.assertLess(note["power_w"], 1.25 * most_w, json.dumps(note))


if __name__ == "__main__":
    unittest.main()
