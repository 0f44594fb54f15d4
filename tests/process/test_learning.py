"""The scripts that learn for ever, live: on virtual boards, and with a PyTorch trainer on this machine."""

import importlib.util
import json
import os
import signal
import sys
import unittest
from pathlib import Path

from harness import SOURCE, Program, Stack

WEIGHTED = ["--objective", "weighted", "--energy-weight", "0.5"]
QUOTA = Path("/sys/fs/cgroup/cpu")
TRAINER_S = 50  # outlives both daemons, and then says what it has trained


def cost(observation, reference):
    """What `answer.value` is under WEIGHTED: 1 in the reference."""
    ratios = [observation["train"][name] / reference["train"][name] for name in ("energy_j", "sample_ms")]
    return sum(ratios) / 2


def setting_of(note):
    return {name: value for name, value in note["setting"].items() if name != "run"}


class Learning(unittest.TestCase):
    def observe(self, daemon, count):
        """Reads on until the daemon has measured so many settings; all of them."""
        while len(daemon.notes("observation")) < count:
            daemon.note("observation")
        return daemon.notes("observation")

    def replays(self, stack, recording):
        done = stack.gearshift("replay", recording, "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual((result["equal"], result["complete"]), (True, True))


class OnVirtualBoards(Learning):
    """One board a script; both run side by side, as a measurement is mostly waiting."""

    def setUp(self):
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            self.skipTest("needs /dev/fuse, for virtual boards")

    def end(self, stack, daemon, knobs):
        self.assertEqual(daemon.finish(signal.SIGINT), 0)
        self.assertEqual(stack.knobs(), knobs)
        self.assertEqual(daemon.summary()["policy_errors"], 0)
        self.replays(stack, stack.folder / "run.db")

    def keeps(self, cap_w, observations):
        """Nothing over the cap is taken for a setting that may be held."""
        self.assertTrue(any(seen["ok"] for seen in observations))
        for seen in observations:
            self.assertEqual(seen["reason"], "complete" if seen["ok"] else "over_limit")
            self.assertEqual(seen["ok"], seen["power_w"] <= cap_w, seen)

    def test_both_scripts_come_to_cheaper_settings_and_keep_the_cap(self):
        with Stack(noise="0%") as free, Stack(noise="0%") as capped:
            boards = ((free, "thompson", None), (capped, "ogd", "30W"))
            knobs = [stack.knobs() for stack, _, _ in boards]
            thompson, ogd = [
                stack.daemon(policy, *WEIGHTED, "--record", stack.folder / "run.db", power=power)
                for stack, policy, power in boards
            ]
            for stack, _, _ in boards:
                stack.trainer("--batch-sizes", "16,32,64", "--jitter", "0%")

            seen = self.observe(thompson, 12)
            highest = seen[0]
            self.assertEqual((highest["setting"]["cpu_cores"], highest["setting"]["gpu_mhz"]), (12, 1300.5))
            self.assertLess(min(cost(one, highest) for one in seen), 0.95)
            self.assertGreater(len({one["setting"]["train_batch"] for one in seen}), 1)

            # A cap in mid-learning: what is known stays, and what is over it is left.
            self.assertEqual(free.gearshift("cap", "30W", "--control", free.control).returncode, 0)
            self.assertEqual(thompson.note("goal")["cap_w"], 30)
            known = len(thompson.notes("observation"))
            seen = self.observe(thompson, known + 7)[known:]
            if seen[0]["reason"] == "goal_changed":
                seen = seen[1:]
            self.keeps(30, seen)
            self.end(free, thompson, knobs[0])

            seen = self.observe(ogd, 16)
            self.keeps(30, seen)
            self.assertEqual(seen[0]["reason"], "over_limit")  # from the highest setting
            reference = setting_of(ogd.first("reference"))
            reference = next(one for one in seen if setting_of(one) == reference)
            self.assertLess(min(cost(one, reference) for one in seen if one["ok"]), 0.95)
            self.end(capped, ogd, knobs[1])
            summary = ogd.summary()
            self.assertLess(summary["energy_j"] / summary["duration_s"], 30)


class OnThisMachine(Learning):
    def setUp(self):
        if os.geteuid() != 0 or not QUOTA.is_dir():
            self.skipTest("needs root and a cgroup v1 cpu controller at /sys/fs/cgroup/cpu")
        for module in ("torch", "sklearn", "zmq", "msgpack"):
            if importlib.util.find_spec(module) is None:
                self.skipTest(f"python3-{module} is not installed")

    def host(self, pid):
        """What the host board may change: the trainer's control group, its limits and its cores."""
        cores = {task: os.sched_getaffinity(int(task)) for task in os.listdir(f"/proc/{pid}/task")}
        groups = Path(f"/proc/{pid}/cgroup").read_text()
        limits = {str(path): path.read_text() for path in QUOTA.rglob("cpu.cfs_quota_us")}
        return cores, groups, limits

    def learn(self, stack, policy, trainer):
        """Runs a script until it has measured a few settings and batch sizes; what it measured."""
        recording = stack.folder / f"{policy}.db"
        daemon = stack.daemon(
            policy, "--board", "host", "--sysroot", "/", *WEIGHTED, "--record", recording,
            power=None, sysroot=False,
        )  # fmt: skip
        daemon.note("attached")
        self.observe(daemon, 4)
        while len({one["setting"]["train_batch"] for one in daemon.notes("observation")}) < 2:
            daemon.note("observation")
        self.assertIsNone(trainer.process.poll())
        self.assertEqual(daemon.finish(signal.SIGINT), 0)
        self.assertEqual(daemon.summary()["policy_errors"], 0)
        self.replays(stack, recording)
        return daemon.notes("observation")

    def test_both_scripts_change_the_batch_size_of_a_pytorch_trainer(self):
        with Stack(board=False) as stack:
            trainer = stack.start(
                Program,
                [sys.executable, SOURCE / "bridge/python/examples/lenet_digits.py", "--json",
                 "--duration", TRAINER_S, "--endpoint", stack.endpoint],
                "lenet",
            )  # fmt: skip
            trainer.wait_for(lambda line: line.startswith("epoch 1:"))  # all threads are there
            before = self.host(trainer.process.pid)
            measured = {}
            for policy in ("thompson", "ogd"):
                for seen in self.learn(stack, policy, trainer):
                    size = str(seen["setting"]["train_batch"])
                    measured[size] = measured.get(size, 0) + seen["train"]["count"]
                self.assertEqual(self.host(trainer.process.pid), before, policy)
            self.assertEqual(trainer.finish(), 0)
            trained = json.loads(trainer.lines[-1])["minibatches_of_batch_size"]
            self.assertGreaterEqual(len(measured), 2)
            for size, count in measured.items():
                self.assertGreaterEqual(trained.get(size, 0), count, f"batch size {size}: {trained}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
