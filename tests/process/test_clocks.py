"""Clocks that jump while the daemon runs, and a machine that sleeps."""

import os
import signal
import struct
import sys
import time
import unittest

from harness import DEADLINE_S, HOLD, SOURCE, Stack, skip_all, wait_until

sys.path.insert(0, str(SOURCE / "bridge/python"))
try:
    import gearshift
except ImportError:
    skip_all("pyzmq or msgpack is missing")

SHIM = os.environ.get("WALL_CLOCK_SHIM")
DAY_S = 86_400
NIGHT = '[[schedule]]\nat = "08:00"\npower = "25W"\n\n[[schedule]]\nat = "18:00"\npower = "30W"\n'


class WallClock:
    """The clock on the wall of a program that is started under it."""

    def __init__(self, folder):
        self.path = folder / "offset"
        self.path.write_bytes(struct.pack("q", 0))
        self.file = open(self.path, "r+b", buffering=0)
        self.environment = {
            "LD_PRELOAD": SHIM, "WALL_CLOCK_OFFSET": str(self.path), "TZ": "UTC"
        }

    def show(self, hour, days=0):
        """Sets it to that hour, today or so many days from now; the jump goes either way."""
        now_s = int(time.time())
        self.file.seek(0)
        self.file.write(struct.pack("q", days * DAY_S + hour * 3600 - now_s % DAY_S))


@unittest.skipUnless(SHIM, "WALL_CLOCK_SHIM does not name the library that moves the clock")
class Jumps(unittest.TestCase):
    def test_the_schedule_follows_the_wall_and_nothing_else_sees_it_jump(self):
        with Stack() as stack:
            wall = WallClock(stack.folder)
            self.addCleanup(wall.file.close)
            wall.show(12)
            os.environ.update(wall.environment)
            try:
                config = stack.script(NIGHT, "run.toml")
                daemon = stack.daemon(stack.script(HOLD), "--config", config, power=None)
            finally:
                for name in wall.environment:
                    del os.environ[name]
            self.assertEqual(daemon.note("goal")["cap_w"], 25)
            stack.trainer()
            daemon.note("hold")
            told = []
            for hour, days, cap_w in ((19, 0, 30), (12, 0, 25), (3, 1, 30), (9, -400, 25), (20, 9000, 30)):
                wall.show(hour, days)
                told.append(daemon.note("goal", text="schedule")["cap_w"])
                self.assertEqual(told[-1], cap_w, (hour, days))
                daemon.note("hold")
            times = [note["time_s"] for note in daemon.notes() if "time_s" in note]
            self.assertEqual(times, sorted(times))
            self.assertLess(times[-1], DEADLINE_S * len(told))
            for name in ("gap", "detached", "power_unknown", "knob_failed", "outside_writer"):
                self.assertEqual(daemon.notes(name), [])
            self.assertEqual(daemon.finish(signal.SIGINT), 0)


class Sleep(unittest.TestCase):
    def test_a_machine_that_slept_goes_on_where_it_was(self):
        with Stack() as stack:
            daemon = stack.daemon(stack.script(HOLD))
            trainer = stack.trainer()
            daemon.note("hold")
            daemon.note("status")
            held = stack.knobs()
            # As a machine that is suspended does: nobody runs, and CLOCK_BOOTTIME goes on.
            asleep = [daemon.process.pid, *daemon.children(), trainer.process.pid]
            asleep.append(stack.board.process.pid)
            awake = gearshift.attach("awake", "train", endpoint=stack.endpoint)
            self.addCleanup(awake.close)
            wait_until(lambda: awake.attached)
            for pid in asleep:
                os.kill(pid, signal.SIGSTOP)
            # As long as any client waits for a sign of life; it is gone then, or it may attach first.
            wait_until(lambda: not awake.attached)
            awake.close()
            for pid in reversed(asleep):
                os.kill(pid, signal.SIGCONT)
            gap_s = daemon.note("gap")["gap_s"]
            self.assertGreater(gap_s, 4)
            daemon.note("attached", text="resnet18")
            daemon.note("hold")
            daemon.note("status", phase="holding")
            wait_until(lambda: stack.knobs() == held)
            self.assertIsNone(trainer.process.poll())
            # The guardian slept too: it has not stepped in.
            self.assertFalse([line for line in daemon.lines if "stands still" in line])
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            summary = daemon.summary()
            powers = [note["power_w"] for note in daemon.notes("status") if note["power_w"]]
            awake_s = summary["duration_s"] - gap_s
            self.assertLessEqual(summary["energy_j"], 1.05 * max(powers) * awake_s)


if __name__ == "__main__":
    unittest.main()
