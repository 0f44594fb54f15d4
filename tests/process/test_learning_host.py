"""The scripts that learn for ever, live with a PyTorch trainer on this machine."""

import importlib.util
import json
import os
import signal
import sys
import unittest
from pathlib import Path

from harness import SOURCE, Program, Stack
from test_learning import WEIGHTED, Learning

QUOTA = Path("/sys/fs/cgroup/cpu")
TRAINER_S = 50  # outlives both daemons, and then says what it has trained


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
