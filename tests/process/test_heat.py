"""A board that heat slows down when the daemon begins or ends: what its limits were is put back, not what heat
left of them."""

import signal
import unittest

from harness import Stack

HOLD = """
return modes[#modes // 2]
"""
CPU_MAX = "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq"
SLOWED = "1036800"  # kHz: the highest of the table that is no more than half of 2,201,600
WAITS = "heat slows the clocks down (cpufreq-cpu0 at state 1 of 1"


def begin_hot(stack, *more, power="30W"):
    """A daemon with a trainer on a board that is slowed down; returned once it says that it waits."""
    stack.fault("heat_percent", "50")
    assert stack.read(CPU_MAX) == SLOWED
    daemon = stack.daemon(stack.script(HOLD), *more, power=power)
    stack.trainer()
    daemon.wait_for(lambda line: WAITS in line)
    return daemon


def left_hot(stack):
    """A board whose daemon and guardian were killed in the midst of a hold, and that is slowed down since."""
    daemon = stack.daemon(stack.script(HOLD))
    stack.trainer()
    daemon.note("hold")
    daemon.kill()
    stack.fault("heat_percent", "50")


class Heat(unittest.TestCase):
    def test_at_the_start_nothing_is_written_before_limits_read_as_they_were_set(self):
        with Stack() as stack:
            before = stack.knobs()
            recording = stack.folder / "run.db"
            daemon = begin_hot(stack, "--record", recording)
            for _ in range(3):
                self.assertGreater(daemon.note("status")["power_w"], 1, "it reads and guards meanwhile")
            self.assertEqual(stack.read("/.virtual/writes"), "0")
            self.assertEqual(daemon.notes("hold"), [])
            stack.fault("heat_percent", "100")
            daemon.wait_for(lambda line: "no more; knobs are set" in line)
            daemon.note("hold")
            self.assertNotEqual(stack.knobs(), before)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            self.assertEqual(stack.knobs(), before)
            self.assertEqual(daemon.notes("knob_failed"), [])
            replayed = stack.gearshift("replay", recording)
            self.assertEqual(replayed.returncode, 0, replayed.stderr)
            self.assertIn("decisions are equal", replayed.stdout)

    def test_a_daemon_that_waits_can_be_stopped(self):
        with Stack() as stack:
            before = stack.knobs()
            daemon = begin_hot(stack)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            self.assertEqual(stack.read("/.virtual/writes"), "0")
            stack.fault("heat_percent", "100")
            self.assertEqual(stack.knobs(), before)

    def test_over_the_cap_the_trainer_waits_meanwhile(self):
        with Stack() as stack:
            daemon = begin_hot(stack, power="12W")
            while daemon.note("status")["power_w"] > 12:
                pass
            self.assertEqual(stack.read("/.virtual/writes"), "0")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_at_the_end_limits_are_put_back_behind_what_heat_shows_of_them(self):
        with Stack() as stack:
            before = stack.knobs()
            daemon = stack.daemon(stack.script(HOLD))
            stack.trainer()
            daemon.note("hold")
            stack.fault("heat_percent", "50")
            self.assertEqual(daemon.finish(signal.SIGINT), 0, daemon.tail())
            self.assertEqual(stack.read(CPU_MAX), SLOWED)
            self.assertFalse((stack.state / "knobs.journal").exists())
            stack.fault("heat_percent", "100")
            self.assertEqual(stack.knobs(), before)

    def test_restore_says_that_heat_hides_what_it_put_back(self):
        with Stack() as stack:
            before = stack.knobs()
            left_hot(stack)
            done = stack.gearshift("restore", "--sysroot", stack.mount, "--state", stack.state)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"reads {SLOWED} while heat slows the clocks down", done.stdout)
            stack.fault("heat_percent", "100")
            self.assertEqual(stack.knobs(), before)

    def test_a_limit_that_is_refused_is_no_limit_that_heat_hides(self):
        with Stack() as stack:
            left_hot(stack)
            stack.fault("ebusy", CPU_MAX)
            done = stack.gearshift("restore", "--sysroot", stack.mount, "--state", stack.state)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(CPU_MAX, done.stdout + done.stderr)
            self.assertTrue((stack.state / "knobs.journal").exists())


if __name__ == "__main__":
    unittest.main()
