"""The guardian process beside a daemon that is killed, stands still, or loses its guardian."""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import unittest
from pathlib import Path

from harness import BINARY, DEADLINE_S, Program, Stack, wait_until

HOLD = """
return {cpu_cores = 4, cpu_mhz = knobs.cpu_mhz[15], gpu_mhz = knobs.gpu_mhz[3],
        mem_mhz = knobs.mem_mhz[3]}
"""
CPU = "/sys/devices/system/cpu"
GPU_MAX = "/sys/class/devfreq/17000000.gpu/max_freq"


class GuardianProcess(unittest.TestCase):
    @contextlib.contextmanager
    def holding(self):
        """A daemon that holds a setting with a trainer; at the end the board must be as it was."""
        with Stack() as stack:
            before = stack.knobs()
            self.found = stack.read(GPU_MAX)
            daemon = stack.daemon(stack.script(HOLD))
            stack.trainer()
            daemon.note("hold")
            self.assertNotEqual(stack.knobs(), before)
            yield stack, daemon
            self.assertEqual(stack.knobs(), before)

    def test_a_killed_daemon_leaves_the_board_as_it_was_without_any_help(self):
        with self.holding() as (stack, daemon):
            daemon.send(signal.SIGKILL)
            told = daemon.wait_for(lambda line: "the daemon is gone" in line)
            self.assertIn(" 0 failed", told)
            self.assertFalse((stack.state / "knobs.journal").exists())

    def test_a_daemon_without_standard_descriptors_is_put_back_and_writes_into_no_file(self):
        for closed in ("<&- >&- 2>&-", ">&- 2>&-"):
            with self.subTest(closed), Stack() as stack:
                before = stack.knobs()
                words = [BINARY, "run", "--policy", stack.script(HOLD), "--power", "30W", "--sysroot", stack.mount]
                words += ["--state", stack.state, "--listen", stack.endpoint, "--control", stack.control]
                shell = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *words]
                daemon = stack.start(Program, shell, "run")
                stack.trainer()
                wait_until(lambda: stack.knobs() != before, "it sets no knob")
                for number in range(3):
                    opened = os.readlink(f"/proc/{daemon.process.pid}/fd/{number}")
                    self.assertEqual(opened, "/dev/null", f"descriptor {number}")
                lock = (stack.state / "knobs.journal.lock").read_text()
                self.assertTrue(lock.startswith(str(daemon.process.pid)), lock)
                daemon.send(signal.SIGKILL)
                daemon.process.wait()
                wait_until(lambda: stack.knobs() == before, "the guardian puts nothing back")
                wait_until(lambda: not (stack.state / "knobs.journal").exists(), "its journal stays")

    def test_a_helper_without_standard_descriptors_writes_into_no_file(self):
        with Stack() as stack:
            words = [BINARY, "helper", "--sysroot", stack.mount, "--state", stack.state, "--socket", stack.folder / "helper"]
            # Straight, and through `gearshift helper`, which starts it.
            for program in (words, [Path(BINARY).parent / "gearshift-helper", *words[2:]]):
                with self.subTest(program[0]):
                    shell = ["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *program]
                    helper = stack.start(Program, shell, "helper")
                    wait_until(lambda: (stack.folder / "helper").exists(), "it does not listen")
                    for number in range(3):
                        opened = os.readlink(f"/proc/{helper.process.pid}/fd/{number}")
                        self.assertEqual(opened, "/dev/null", f"descriptor {number}")
                    self.assertEqual(helper.finish(signal.SIGTERM), 0)

    def test_a_file_that_is_busy_for_a_moment_is_put_back_by_the_daemon_and_by_the_guardian(self):
        for path in (CPU + "/cpu7/online", CPU + "/cpufreq/policy0/scaling_max_freq"):
            for end in (signal.SIGINT, signal.SIGKILL):
                with self.subTest(path, end=end), self.holding() as (stack, daemon):
                    stack.fault("ebusy", path)
                    daemon.send(end)
                    # It was tried in vain by then: the GPU comes after cores and their limits.
                    wait_until(lambda: stack.read(GPU_MAX) == self.found)
                    stack.fault("ebusy", "none")
                    if end == signal.SIGKILL:
                        told = daemon.wait_for(lambda line: "the daemon is gone" in line)
                        self.assertIn(" 0 failed", told)
                    else:
                        self.assertEqual(daemon.finish(), 0, daemon.tail())
                    self.assertFalse((stack.state / "knobs.journal").exists())

    def test_what_is_busy_for_longer_the_guardian_puts_back_with_the_limits_that_slept_behind_it(self):
        with Stack() as stack:
            for core in (5, 6, 7):
                stack.write(f"{CPU}/cpu{core}/online", "0")
            before = stack.knobs()
            daemon = stack.daemon(stack.script(HOLD))
            stack.trainer()
            daemon.note("hold")
            stack.fault("ebusy", CPU + "/cpu4")  # all that its cluster has
            daemon.send(signal.SIGINT)
            told = daemon.wait_for(lambda line: "not restored" in line)
            self.assertIn("cpu4/online: wrote 1 (Device or resource busy), reads 0", told)
            self.assertEqual(daemon.process.wait(DEADLINE_S), 1)
            stack.fault("ebusy", "none")
            self.assertIn(" 0 failed", daemon.wait_for(lambda line: "the daemon is gone" in line))
            self.assertEqual(stack.knobs(), before)

    def test_a_daemon_that_is_started_while_the_guardian_puts_back_waits_for_it(self):
        with self.holding() as (stack, daemon):
            daemon.send(signal.SIGKILL)
            daemon.process.wait()
            second = stack.daemon(stack.script(HOLD))
            second.note("hold")
            self.assertEqual(second.finish(signal.SIGINT), 0)

    def test_a_loop_that_stands_still_is_stepped_down_and_goes_on_afterwards(self):
        with self.holding() as (stack, daemon):
            held = stack.read(GPU_MAX)
            daemon.send(signal.SIGSTOP)
            daemon.wait_for(lambda line: "stepped to the safe mode" in line)
            self.assertLess(int(stack.read(GPU_MAX)), int(held))
            daemon.send(signal.SIGCONT)
            daemon.note("outside_writer")
            daemon.note("status")
            daemon.note("status")
            self.assertEqual(stack.read(GPU_MAX), held)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_a_daemon_that_stands_still_and_is_killed_then_is_put_back(self):
        with self.holding() as (_, daemon):
            daemon.send(signal.SIGSTOP)
            daemon.wait_for(lambda line: "stepped to the safe mode" in line)
            daemon.send(signal.SIGKILL)
            daemon.wait_for(lambda line: "the daemon is gone" in line)

    def test_a_daemon_that_loses_its_guardian_says_so_and_ends_as_it_should(self):
        with self.holding() as (_, daemon):
            (guardian,) = daemon.children()
            os.kill(guardian, signal.SIGTERM)  # what a group is sent does not reach it
            daemon.note("status")
            self.assertEqual(daemon.children(), [guardian])
            os.kill(guardian, signal.SIGKILL)
            daemon.wait_for(lambda line: "its guardian process was killed" in line)
            daemon.note("status")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_a_guardian_that_is_stopped_is_told_of_and_keeps_no_daemon_from_ending(self):
        with self.holding() as (_, daemon):
            (guardian,) = daemon.children()
            os.kill(guardian, signal.SIGSTOP)
            daemon.wait_for(lambda line: "its guardian process is stopped" in line)
            daemon.note("status")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_the_end_leaves_the_knobs_to_the_guardian_while_its_step_goes_on(self):
        with self.holding() as (stack, daemon):
            with open(Path(stack.state) / "knobs.journal.step", "r+b") as locks:
                fcntl.lockf(locks, fcntl.LOCK_EX, 1)  # as a guardian has it whose write does not return
                daemon.send(signal.SIGINT)
                told = daemon.wait_for(lambda line: "not restored" in line)
                self.assertEqual(daemon.process.wait(DEADLINE_S), 1)
            self.assertIn("step to the safe mode still goes on", told)
            self.assertIn(" 0 failed", daemon.wait_for(lambda line: "the daemon is gone" in line))

    def test_a_state_folder_that_is_removed_is_made_anew_with_the_journal(self):
        with self.holding() as (stack, daemon):
            shutil.rmtree(stack.state)
            daemon.wait_for(lambda line: "removed the knob journal" in line and "written anew" in line)
            daemon.send(signal.SIGKILL)
            self.assertIn(" 0 failed", daemon.wait_for(lambda line: "the daemon is gone" in line))

    def test_a_journal_that_somebody_else_has_put_back_is_not_missed(self):
        with self.holding() as (stack, daemon):
            (guardian,) = daemon.children()
            os.kill(guardian, signal.SIGSTOP)
            daemon.send(signal.SIGKILL)
            daemon.process.wait()
            restored = stack.gearshift("restore", "--state", stack.state, "--sysroot", stack.mount)
            self.assertEqual(restored.returncode, 0, restored.stdout + restored.stderr)
            os.kill(guardian, signal.SIGCONT)
            while daemon.next_line() is not None:  # until the guardian ends
                pass
            self.assertNotIn("somebody has removed", daemon.tail())

    def test_a_start_on_a_board_whose_files_hang_ends_by_the_first_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number), Stack() as stack:
                before = stack.knobs()
                stack.board.send(signal.SIGSTOP)
                daemon = stack.daemon(stack.script(HOLD))
                waits_in = Path(f"/proc/{daemon.process.pid}/wchan")
                hangs = re.compile("fuse|request_wait")  # kernels call it differently
                wait_until(lambda: hangs.search(waits_in.read_text()), "it reads nothing of the board")
                daemon.send(number)
                self.assertEqual(daemon.process.wait(DEADLINE_S), -number)
                stack.board.send(signal.SIGCONT)
                self.assertEqual(stack.knobs(), before)

    def test_a_board_is_set_by_one_daemon_whatever_their_state_folders_are(self):
        def other_daemon(*more):
            return stack.gearshift(
                "run", "--policy", script, "--sysroot", stack.mount, "--state", other,
                "--listen", f"ipc://{stack.folder}/other.ipc",
                "--control", f"ipc://{stack.folder}/other-control.ipc", *more,
            )  # fmt: skip

        with self.holding() as (stack, daemon):
            script, other = stack.script(HOLD), stack.folder / "other"
            held = stack.knobs()
            refused = other_daemon()
            self.assertEqual(refused.returncode, 3, refused.stdout + refused.stderr)
            self.assertIn(f"pid {daemon.process.pid}", refused.stderr)
            self.assertIn("with another state folder", refused.stderr)
            # Neither it nor its guardian lives to put the knobs back: what they were is in its folder.
            (guardian,) = daemon.children()
            os.kill(guardian, signal.SIGKILL)
            daemon.send(signal.SIGKILL)
            daemon.process.wait()
            refused = other_daemon()
            self.assertEqual(refused.returncode, 3, refused.stdout + refused.stderr)
            self.assertIn(f"gearshift restore --state {stack.state}", refused.stderr)
            self.assertEqual(stack.knobs(), held)
            restored = stack.gearshift("restore", "--state", stack.state, "--sysroot", stack.mount)
            self.assertEqual(restored.returncode, 0, restored.stdout + restored.stderr)
            done = other_daemon("--duration", "1s")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
