"""A daemon without root, and the helper that sets the knobs for it: what holds for one process holds for two."""

import contextlib
import os
import re
import signal
import unittest
from pathlib import Path

from harness import BINARY, HOLD, SOURCE, Stack, skip_all
from programs import Daemon, Program

HOLD_LOW = "return {cpu_cores = 4, cpu_mhz = knobs.cpu_mhz[10], gpu_mhz = knobs.gpu_mhz[1], mem_mhz = knobs.mem_mhz[2]}"
HOLD_HOST = "return {cpu_cores = 1, cpu_quota_percent = 30, train_batch = 8}"
# A trainer that does nothing, minibatch by minibatch.
TRAINER = """
import sys, time
sys.path.insert(0, sys.argv[2])
import gearshift
client = gearshift.attach("toy", kind="train", batch_size=8, batch_sizes=[8], samples_per_epoch=8, endpoint=sys.argv[1])
while True:
    with client.minibatch(0):
        time.sleep(0.02)
"""
# CapabilityBoundingSet of packaging/systemd/gearshift-helper.service.
RIGHTS_OF_THE_UNIT = ("setpriv", "--bounding-set=-all,+chown", "--inh-caps=-all")
QUOTA = Path("/sys/fs/cgroup/cpu")
GPU_MAX = "/sys/class/devfreq/17000000.gpu/max_freq"
NOBODY = 65534

if os.geteuid() != 0:
    skip_all("only root can start a helper for another user")


class Split(Stack):
    """A board of root's, a helper of root's, and a daemon that is nobody's."""

    def __init__(self, **options):
        super().__init__(**options)
        self.folder.chmod(0o755)
        self.home = self.folder / "nobody"
        self.home.mkdir(mode=0o700)
        os.chown(self.home, NOBODY, NOBODY)
        self.socket = self.folder / "helper.sock"

    @property
    def endpoint(self):
        return f"ipc://{self.home}/workloads.ipc"

    @property
    def control(self):
        return f"ipc://{self.home}/control.ipc"

    def helper(self, *more, user=NOBODY, under=()):
        arguments = [*under, BINARY, "helper", "--socket", self.socket, "--user", user, "--state", self.state]
        arguments += more or ["--sysroot", self.mount]
        helper = self.start(Program, arguments, "helper")
        helper.wait_for(lambda line: line.startswith("ready"))
        return helper

    def daemon(self, policy, *more, user=NOBODY, control=None, power="30W"):
        policy.chmod(0o644)
        arguments = [BINARY, "run", "--json", "--policy", policy, "--listen", self.endpoint]
        arguments += ["--control", control or self.control, "--state", self.home / "state", "--power", power]
        arguments += ["--helper", self.socket, *(more if self.board is None else ["--sysroot", self.mount, *more])]
        return self.start(Daemon, arguments, "run", user=user, group=user, extra_groups=[])

    def status_of(self, program, field):
        with open(f"/proc/{program.process.pid}/status", encoding="ascii") as file:
            return next(line.split()[1:] for line in file if line.startswith(field + ":"))


class Privileges(unittest.TestCase):
    @contextlib.contextmanager
    def holding(self, *more, policy=HOLD, power="30W"):
        """A daemon of nobody's that holds a setting; at the end the board must be as it was."""
        with Split() as stack:
            before = stack.knobs()
            helper = stack.helper()
            try:
                daemon = stack.daemon(stack.script(policy), *more, power=power)
            except PermissionError:
                self.skipTest(f"user {NOBODY} may not start {BINARY}")
            stack.trainer()
            daemon.note("hold")
            self.assertNotEqual(stack.knobs(), before)
            yield stack, helper, daemon
            self.assertEqual(stack.knobs(), before)

    @staticmethod
    def await_clock(stack, daemon, held):
        """Waits until the daemon has set its clock again: cores come one a tick, and before it."""
        daemon.wait_for(lambda _: stack.read(GPU_MAX) == held)

    @staticmethod
    def await_phase_within_cap(daemon, phase):
        for _ in range(60):
            status = daemon.note("status")
            if status["phase"] == phase and status["power_w"] < status["cap_w"]:
                return
        raise AssertionError(f"not {phase} within the cap, but {status}")

    @staticmethod
    def await_quota(helper, daemon, trainer):
        """Waits until the trainer is in the helper's control group under its quota: its file."""
        for _ in range(60):
            group = re.search(r":cpu(?:,cpuacct)?:(/.*)", Path(f"/proc/{trainer.process.pid}/cgroup").read_text())
            quota = QUOTA / group.group(1).lstrip("/") / "cpu.cfs_quota_us"
            if quota.parent.name == f"gearshift-{helper.process.pid}" and quota.read_text() == "30000\n":
                return quota
            daemon.note("status")
        raise AssertionError(f"{quota} does not hold the trainer at 30000 us")

    @contextlib.contextmanager
    def training(self):
        """A trainer on this machine in the helper's control group, and its quota's file."""
        with Split(board=False) as stack:
            helper = stack.helper("--board", "host")
            daemon = stack.daemon(stack.script(HOLD_HOST), "--board", "host", power="500W")
            daemon.note("status")
            script = stack.script(TRAINER, "trainer.py")
            script.chmod(0o644)
            arguments = ["/usr/bin/python3", script, stack.endpoint, SOURCE / "bridge/python"]
            trainer = stack.start(Program, arguments, "toy", user=NOBODY, group=NOBODY, extra_groups=[])
            daemon.note("attached")
            yield stack, helper, daemon, trainer, self.await_quota(helper, daemon, trainer)

    def test_the_loop_needs_no_root_and_leaves_the_board_as_it_was(self):
        with self.holding() as (stack, helper, daemon):
            self.assertEqual(stack.status_of(daemon, "Uid"), [str(NOBODY)] * 4)
            self.assertEqual(stack.status_of(daemon, "CapEff"), ["0" * 16])
            self.assertEqual(daemon.children(), [], "the guardian is the helper's")
            told = [note for note in daemon.notes() if note["note"] in ("knob_failed", "outside_writer")]
            self.assertEqual(told, [])
            self.assertEqual(stack.read(GPU_MAX), "510000000")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            helper.wait_for(lambda line: "the knobs are as they were found" in line)
            self.assertEqual(helper.finish(signal.SIGTERM), 0)
            self.assertFalse(stack.socket.exists())

    def test_a_killed_daemon_leaves_the_board_as_it_was(self):
        with self.holding() as (stack, helper, daemon):
            daemon.send(signal.SIGKILL)
            helper.wait_for(lambda line: "has gone; the knobs are as they were found" in line)
            self.assertFalse((stack.state / "knobs.journal").exists())

    def test_a_killed_helper_leaves_the_board_as_it_was_and_the_next_one_goes_on(self):
        with self.holding() as (stack, helper, daemon):
            held = stack.read(GPU_MAX)
            helper.send(signal.SIGKILL)
            helper.wait_for(lambda line: "the helper is gone" in line and " 0 failed" in line)
            daemon.wait_for(lambda line: "no knob can be set until it answers again" in line)
            stack.helper()
            daemon.wait_for(lambda line: "has come back" in line)
            daemon.note("outside_writer")
            self.await_clock(stack, daemon, held)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_a_helper_with_the_rights_of_its_unit_comes_back_after_it_was_killed(self):
        with Split() as stack:
            for _ in range(2):
                helper = stack.helper(under=RIGHTS_OF_THE_UNIT)
                self.assertEqual(stack.status_of(helper, "CapEff"), ["0" * 15 + "1"])
                helper.send(signal.SIGKILL)
                helper.process.wait()
                self.assertTrue(stack.socket.exists())

    def test_without_a_helper_the_trainer_waits_where_the_board_was_found_in_a_mode_over_the_cap(self):
        with self.holding(policy=HOLD_LOW, power="20W") as (stack, helper, daemon):
            helper.send(signal.SIGKILL)
            told = daemon.wait_for(lambda line: "no knob can be set now to step down" in line)
            self.assertIn("the workloads wait", told)
            self.await_phase_within_cap(daemon, "paused")
            stack.helper()
            self.await_phase_within_cap(daemon, "holding")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_both_killed_leave_the_board_as_it_was(self):
        with self.holding() as (_, helper, daemon):
            daemon.send(signal.SIGKILL)
            helper.send(signal.SIGKILL)
            helper.process.wait()
            while helper.next_line() is not None:  # the guardian has it open too
                pass

    def test_all_three_killed_leave_it_to_the_next_start(self):
        with self.holding() as (stack, helper, daemon):
            (guardian,) = helper.children()
            os.kill(guardian, signal.SIGKILL)
            helper.send(signal.SIGKILL)
            daemon.send(signal.SIGKILL)
            helper.process.wait()
            self.assertTrue((stack.state / "knobs.journal").exists())
            restored = stack.gearshift("restore", "--sysroot", stack.mount, "--state", stack.state)
            self.assertEqual(restored.returncode, 0, restored.stdout + restored.stderr)

    def test_a_daemon_that_stands_still_is_stepped_down_and_goes_on_afterwards(self):
        with self.holding() as (stack, helper, daemon):
            held = stack.read(GPU_MAX)
            daemon.send(signal.SIGSTOP)
            helper.wait_for(lambda line: "stepped to the safe mode" in line)
            self.assertLess(int(stack.read(GPU_MAX)), int(held))
            daemon.send(signal.SIGCONT)
            daemon.note("outside_writer")
            self.await_clock(stack, daemon, held)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_a_helper_that_stands_still_is_stepped_down_by_its_guardian(self):
        with self.holding() as (stack, helper, daemon):
            held = stack.read(GPU_MAX)
            helper.send(signal.SIGSTOP)
            helper.wait_for(lambda line: "stepped to the safe mode" in line)
            daemon.wait_for(lambda line: "says nothing any more" in line)
            helper.send(signal.SIGCONT)
            daemon.wait_for(lambda line: "answers again" in line)
            self.await_clock(stack, daemon, held)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_a_helper_that_is_asked_to_end_puts_the_knobs_back(self):
        with self.holding() as (_, helper, daemon):
            self.assertEqual(helper.finish(signal.SIGTERM), 0)
            daemon.wait_for(lambda line: "no knob can be set" in line)
            daemon.finish(signal.SIGINT)

    def test_a_setting_that_is_to_be_kept_is_put_back_by_restore(self):
        with self.holding("--on-exit", "keep") as (stack, helper, daemon):
            held = stack.read(GPU_MAX)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            helper.wait_for(lambda line: "its setting is kept" in line)
            self.assertEqual(stack.read(GPU_MAX), held)
            restored = stack.gearshift("restore", "--sysroot", stack.mount, "--state", stack.state)
            self.assertEqual(restored.returncode, 0, restored.stdout + restored.stderr)

    def test_a_knob_that_fails_while_it_runs_is_told_with_its_reason(self):
        with self.holding() as (stack, _, daemon):
            stack.fault("eacces", GPU_MAX)
            stack.script(HOLD.replace("gpu_mhz[3]", "gpu_mhz[4]"))
            failed = daemon.note("knob_failed")
            self.assertIn("gpu_mhz", failed["text"])
            self.assertIn("denied", failed["text"])
            stack.fault("eacces", "none")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_a_recorded_run_plays_back(self):
        with Split() as stack:
            stack.helper()
            record = stack.home / "run.db"
            daemon = stack.daemon(stack.script(HOLD), "--record", record)
            stack.trainer()
            daemon.note("hold")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            replayed = stack.gearshift("replay", record)
            self.assertEqual(replayed.returncode, 0, replayed.stdout + replayed.stderr)

    def test_who_may_not_or_cannot_is_told_why(self):
        with Split() as stack:
            policy = stack.script(HOLD)
            alone = stack.daemon(policy)
            self.assertEqual(alone.finish(), 4)
            self.assertIn("start it as root: gearshift helper", alone.tail())
            stack.helper(user=0)
            other = stack.daemon(policy)
            self.assertEqual(other.finish(), 4)
            self.assertIn("it belongs to another user", other.tail())
            self.assertEqual(stack.gearshift("restore", "--sysroot", stack.mount, "--state", stack.state).returncode, 0)

    def test_a_second_daemon_is_told_who_has_the_knobs(self):
        with self.holding() as (stack, _, daemon):
            second = stack.daemon(stack.script(HOLD, "second.lua"), control=f"ipc://{stack.home}/other.ipc")
            self.assertEqual(second.finish(), 3)
            self.assertIn(f"process {daemon.process.pid} of user {NOBODY} has the knobs", second.tail())
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

    @unittest.skipUnless(QUOTA.is_dir(), f"needs a cgroup v1 cpu controller at {QUOTA}")
    def test_a_trainer_is_moved_into_a_control_group_and_back(self):
        with self.training() as (_, helper, daemon, trainer, quota):
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            helper.wait_for(lambda line: "the knobs are as they were found" in line)
            self.assertFalse(quota.parent.exists())
            self.assertIsNone(trainer.process.poll())

    def test_a_trainer_is_in_the_control_group_of_the_helper_that_comes_after_a_killed_one(self):
        with self.training() as (stack, helper, daemon, trainer, _):
            helper.send(signal.SIGKILL)
            helper.wait_for(lambda line: "the helper is gone" in line and " 0 failed" in line)
            daemon.wait_for(lambda line: "no knob can be set until it answers again" in line)
            self.await_quota(stack.helper("--board", "host"), daemon, trainer)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_what_runs_as_root_links_little(self):
        with Split() as stack:
            helper = stack.helper()
            with open(f"/proc/{helper.process.pid}/maps", encoding="ascii") as file:
                maps = file.read()
            for library in ("zmq", "sqlite", "lua", "fuse", "torch"):
                self.assertNotIn("lib" + library, maps)
            self.assertEqual(stack.status_of(helper, "NoNewPrivs"), ["1"])


if __name__ == "__main__":
    unittest.main()
