"""The host board's control groups where the daemon can do nothing: its guardian sets the safe mode in them."""

import os
import signal
import unittest
from pathlib import Path

from harness import Stack, skip_all

QUOTA = Path("/sys/fs/cgroup/cpu")
HOLD = "return {cpu_cores = knobs.cpu_cores[#knobs.cpu_cores], cpu_quota_percent = 100, train_batch = 16}"

if not os.access(QUOTA, os.W_OK) or not (QUOTA / "cgroup.procs").exists():
    skip_all(f"needs a cgroup v1 cpu controller at {QUOTA} that can be written")


def quota_of(pid):
    """The file of the quota that the process runs under."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            return QUOTA / path.lstrip("/") / "cpu.cfs_quota_us"
    raise AssertionError(f"no cpu controller in /proc/{pid}/cgroup")


class ControlGroups(unittest.TestCase):
    def test_a_loop_that_stands_still_is_stepped_down_in_its_group_and_goes_on_afterwards(self):
        with Stack() as stack:
            daemon = stack.daemon(
                stack.script(HOLD), "--board", "host", "--sysroot", "/", power=None, sysroot=False
            )
            daemon.note("status")
            pid = stack.trainer().process.pid
            home = quota_of(pid)
            daemon.note("hold")
            quota = quota_of(pid)
            self.assertEqual(quota.read_text(), "100000\n")
            daemon.send(signal.SIGSTOP)
            daemon.wait_for(lambda line: "stepped to the safe mode" in line)
            self.assertEqual(quota.read_text(), "10000\n")
            daemon.send(signal.SIGCONT)
            daemon.note("outside_writer")
            daemon.note("status")
            daemon.note("status")
            self.assertEqual(quota.read_text(), "100000\n")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            self.assertEqual(quota_of(pid), home)
            self.assertFalse(quota.parent.exists())


if __name__ == "__main__":
    unittest.main()
