"""What --on-exit asks for, where the process is slow to end or the board refuses."""

import contextlib
import os
import signal
import unittest

from harness import BINARY, HOLD, SOURCE, Program, Stack

GPU = "/sys/class/devfreq/17000000.gpu"


def board_whose_reads_block(stack):
    """An AGX Orin that has a thread for its sensors, and no time at which power becomes unknown."""
    text = (SOURCE / "boards/jetson-agx-orin.toml").read_text()
    for old, new in (("reads_block = false", "reads_block = true"), ("stale_after_ms = 1000", "stale_after_ms = 60000")):
        if old not in text:
            raise AssertionError(f"the board file has no {old}")
        text = text.replace(old, new)
    return stack.script(text, "blocks.toml")


class OnExit(unittest.TestCase):
    @contextlib.contextmanager
    def holding(self, stack, *more):
        """A daemon that holds a setting; at the end `restore` must put the board back as it was."""
        before = stack.knobs()
        # A cap that nothing comes near: a busy machine's readings are no reason to step down.
        daemon = stack.daemon(stack.script(HOLD), *more, power="60W")
        stack.trainer()
        daemon.note("hold")
        yield daemon
        done = stack.gearshift("restore", "--sysroot", stack.mount, "--state", stack.state)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(stack.knobs(), before)

    def end_in_a_read_of_4_s(self, stack, daemon):
        """The daemon cannot end before its sensors' thread does: longer than a guardian's patience."""
        held = stack.knobs()
        stack.fault("block_read_ms", "4000")
        daemon.note("status")
        daemon.note("status")  # the read has begun, and goes on for 2 s and more
        self.assertEqual(daemon.finish(signal.SIGINT), 0)
        stack.fault("block_read_ms", "0")
        self.assertEqual(stack.knobs(), held)

    def test_what_is_kept_stays_while_a_sensor_keeps_the_process_from_ending(self):
        with Stack() as stack:
            board = board_whose_reads_block(stack)
            with self.holding(stack, "--on-exit", "keep", "--board", board) as daemon:
                self.end_in_a_read_of_4_s(stack, daemon)
            self.assertNotIn("stepped to the safe mode", "\n".join(daemon.lines))

    def test_a_helper_keeps_it_likewise(self):
        with Stack() as stack:
            board, socket = board_whose_reads_block(stack), stack.folder / "helper.sock"
            arguments = [BINARY, "helper", "--socket", socket, "--user", os.geteuid(), "--state", stack.state]
            helper = stack.start(
                Program, arguments + ["--sysroot", stack.mount, "--board", board], "helper"
            )
            helper.wait_for(lambda line: line.startswith("ready"))
            more = ("--on-exit", "keep", "--board", board, "--helper", socket)
            with self.holding(stack, *more) as daemon:
                self.end_in_a_read_of_4_s(stack, daemon)
                helper.wait_for(lambda line: "its setting is kept" in line)
                self.assertEqual(helper.finish(signal.SIGTERM), 0)
            self.assertNotIn("stepped to the safe mode", "\n".join(helper.lines))

    def test_a_safe_mode_that_cannot_be_set_is_told_and_the_exit_code_says_so(self):
        with Stack() as stack, self.holding(stack, "--on-exit", "safe") as daemon:
            stack.fault("ebusy", GPU)
            self.assertEqual(daemon.finish(signal.SIGINT), 1)
            stack.fault("ebusy", "none")
            told = "\n".join(daemon.lines)
            self.assertIn("--on-exit safe: the safe mode is not set: gpu_mhz", told)
            self.assertEqual(stack.read(GPU + "/max_freq"), "510000000")
            self.assertEqual(stack.read("/sys/devices/system/cpu/online"), "0-1")  # the others are set


if __name__ == "__main__":
    unittest.main()
