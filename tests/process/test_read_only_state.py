"""A state folder that turns read-only while the daemon runs, as ext4 with errors=remount-ro does on a worn SD card."""

import contextlib
import os
import signal
import subprocess
import unittest

from harness import DEADLINE_S, Stack, skip_all

HOLD = """
return {cpu_cores = 4, cpu_mhz = knobs.cpu_mhz[15], gpu_mhz = knobs.gpu_mhz[3],
        mem_mhz = knobs.mem_mhz[3]}
"""
GPU_MAX = "/sys/class/devfreq/17000000.gpu/max_freq"

if os.geteuid() != 0:
    skip_all("only root can make a folder read-only for root")


class ReadOnlyState(unittest.TestCase):
    def make_read_only(self, state):
        """By a mount on top, which has no file open that is written."""
        if subprocess.run(["mount", "--bind", state, state], capture_output=True).returncode != 0:
            self.skipTest("this user may not mount")
        subprocess.run(["mount", "-o", "remount,bind,ro", state], check=True)

    @contextlib.contextmanager
    def holding(self):
        """A daemon that holds a setting, whose state folder has turned read-only since; the board as it was found."""
        with Stack() as stack:
            found = stack.knobs()
            daemon = stack.daemon(stack.script(HOLD))
            stack.trainer()
            daemon.note("hold")
            self.assertNotEqual(stack.knobs(), found)
            self.make_read_only(stack.state)
            try:
                yield stack, daemon, found
            finally:
                subprocess.run(["umount", "--lazy", stack.state], capture_output=True)

    def restore(self, stack):
        done = stack.gearshift("restore", "--state", stack.state, "--sysroot", stack.mount)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_a_daemon_that_ends_puts_everything_back_and_says_that_the_journal_stays(self):
        with self.holding() as (stack, daemon, found):
            daemon.send(signal.SIGINT)
            daemon.wait_for(lambda line: "cannot be removed (Read-only file system)" in line)
            self.assertEqual(daemon.finish(), 0, daemon.tail())
            self.assertEqual(stack.knobs(), found)

    def test_the_guardian_puts_everything_back_and_nothing_does_so_twice(self):
        with self.holding() as (stack, daemon, found):
            daemon.send(signal.SIGKILL)
            self.assertIn(" 0 failed", daemon.wait_for(lambda line: "the daemon is gone" in line))
            daemon.wait_for(lambda line: "cannot be removed (Read-only file system)" in line)
            self.assertEqual(stack.knobs(), found)
            # The journal is there still, and a person has another wish by now.
            wish = "816000000"
            self.assertNotEqual(stack.read(GPU_MAX), wish)
            stack.write(GPU_MAX, wish)
            self.assertIn("was put back already", self.restore(stack))
            self.assertEqual(stack.read(GPU_MAX), wish)
            subprocess.run(["umount", stack.state], check=True)
            second = stack.daemon(stack.script(HOLD))
            second.note("hold")
            self.assertNotEqual(stack.read(GPU_MAX), wish)
            # What this one saves is new, and is put back.
            second.send(signal.SIGKILL)
            self.assertIn(" 0 failed", second.wait_for(lambda line: "the daemon is gone" in line))
            self.assertEqual(stack.read(GPU_MAX), wish)
            self.assertFalse((stack.state / "knobs.journal").exists())

    def test_where_the_guardian_was_killed_too_restore_puts_everything_back(self):
        with self.holding() as (stack, daemon, found):
            daemon.kill()
            daemon.process.wait(DEADLINE_S)
            self.assertNotEqual(stack.knobs(), found)
            self.assertIn("cannot be removed (Read-only file system)", self.restore(stack))
            self.assertEqual(stack.knobs(), found)


if __name__ == "__main__":
    unittest.main()
