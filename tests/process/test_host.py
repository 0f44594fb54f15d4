"""The host board with a real PyTorch trainer: the kernel's own accounting follows the knobs."""

import importlib.util
import os
import signal
import sys
import time
import unittest
from pathlib import Path

from harness import SOURCE, Program, Stack, skip_all

QUOTA = Path("/sys/fs/cgroup/cpu")
HOLD = "return {{cpu_cores = 1, cpu_quota_percent = {quota}, train_batch = {batch}}}"

if os.geteuid() != 0 or not QUOTA.is_dir():
    skip_all("needs root and a cgroup v1 cpu controller at /sys/fs/cgroup/cpu")
for module in ("torch", "sklearn", "zmq", "msgpack"):
    if importlib.util.find_spec(module) is None:
        skip_all(f"python3-{module} is not installed")


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def group_of(pid):
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            return QUOTA / path.lstrip("/")
    raise AssertionError(f"no cpu controller in /proc/{pid}/cgroup")


def lenet(stack):
    example = SOURCE / "bridge/python/examples/lenet_digits.py"
    return stack.start(
        Program, [sys.executable, example, "--duration", "300", "--endpoint", stack.endpoint], "lenet"
    )


class Host(unittest.TestCase):
    def test_a_pytorch_trainer_is_held_to_its_quota_and_let_go(self):
        with Stack(board=False) as stack:
            script = stack.script(HOLD.format(quota=30, batch=32))
            daemon = stack.daemon(
                script, "--board", "host", "--sysroot", "/", power=None, sysroot=False
            )
            daemon.note("status")
            trainer = lenet(stack)
            pid = trainer.process.pid
            home = group_of(pid)
            daemon.note("attached")
            self.assertEqual(daemon.note("hold")["setting"]["cpu_quota_percent"], 30)
            group = group_of(pid)
            self.assertNotEqual(group, home)
            self.assertEqual((group / "cpu.cfs_quota_us").read_text().strip(), "30000")
            # The share is a ratio of the kernel's two clocks, so a loaded machine only lowers it.
            used, began = cpu_s(pid), time.monotonic()
            for _ in range(4):
                daemon.note("status")
            self.assertLess((cpu_s(pid) - used) / (time.monotonic() - began), 0.36)
            observation = daemon.first("observation")
            self.assertTrue(observation["ok"])
            self.assertTrue(observation["power_is_estimate"])
            self.assertEqual(observation["setting"]["train_batch"], 32)

            script.write_text(HOLD.format(quota=60, batch=8))
            daemon.note("policy_reload")
            hold = daemon.note("hold")["setting"]
            self.assertEqual((hold["cpu_quota_percent"], hold["train_batch"]), (60, 8))
            self.assertEqual((group / "cpu.cfs_quota_us").read_text().strip(), "60000")

            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            self.assertEqual(group_of(pid), home)
            self.assertFalse(group.exists())
            self.assertIsNone(trainer.process.poll())

    def test_a_cap_below_the_lowest_quota_is_kept_by_waiting(self):
        """10 W without work and 1.5 W more at a quota of 10 %, by the estimate."""
        with Stack(board=False) as stack:
            daemon = stack.daemon("bayes", "--board", "host", "--sysroot", "/", power="11W", sysroot=False)
            daemon.note("status")
            pid = lenet(stack).process.pid
            daemon.note("status", phase="resting")
            daemon.note("status", phase="resting")
            used, began = cpu_s(pid), time.monotonic()
            for _ in range(15):
                self.assertEqual(daemon.note("status")["phase"], "resting")
            # Of a core: 1 W, and what the clock of 10 ms hides. What else runs here leaves it less.
            self.assertLess((cpu_s(pid) - used) / (time.monotonic() - began), 0.085)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
