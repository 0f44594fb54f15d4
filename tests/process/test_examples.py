"""The example that trains and serves a ResNet-18, on the processor, as a program of its own."""

import importlib.util
import json
import subprocess
import sys
import unittest

from harness import DEADLINE_S, SOURCE, Program, skip_all

for module in ("torch", "zmq", "msgpack", "sklearn"):
    if importlib.util.find_spec(module) is None:
        skip_all(f"python3-{module} is not installed")

WORDS = ["--device", "cpu", "--pixels", "16", "--train-batch-size", "4", "--batch-sizes", "1,4", "--json",
         "--endpoint", "ipc:///nobody/listens.ipc", "--duration", "3"]  # fmt: skip


class ResNet(unittest.TestCase):
    def summary(self, *more):
        example = SOURCE / "bridge/python/examples/resnet_interleaved.py"
        program = Program([sys.executable, example, *WORDS, *more], "resnet_interleaved")
        self.assertEqual(program.finish(), 0, program.tail())
        return json.loads(program.lines[-1])

    def test_trains_and_answers_every_request(self):
        done = self.summary("--rate", "5", "--latency-ms", "0")
        self.assertGreater(done["train_minibatches"], 0)
        self.assertGreater(done["requests"], 0)
        self.assertGreater(done["infer_minibatches"], 0)
        self.assertEqual(done["refused"], 0)

    def test_trains_alone_with_its_own_batch_size_where_nobody_asks_for_another(self):
        done = self.summary("--only", "train", "--train-batch-sizes", "2,8")
        self.assertGreater(done["train_minibatches"], 0)
        self.assertEqual(done["train_samples"], 4 * done["train_minibatches"])


class LeNet(unittest.TestCase):
    def test_what_a_flag_cannot_be_is_refused_with_the_way_out(self):
        examples = SOURCE / "bridge/python/examples"
        nobody = ["--endpoint", "ipc:///nobody/listens.ipc", "--duration", "1"]
        for words, named in (
            (["lenet_digits.py", "--duration", "-1"], "--duration -1: give a number of seconds above 0"),
            (["lenet_interleaved.py", "--batch-sizes", "1,x"], "--batch-sizes 1,x: give numbers with commas"),
            (["lenet_interleaved.py", "--arrivals", "nosuch", *nobody], "--arrivals nosuch: No such file"),
            (["lenet_interleaved.py", "--arrivals", __file__, *nobody], f"--arrivals {__file__}: give a CSV file"),
        ):
            done = subprocess.run(
                [sys.executable, examples / words[0], *words[1:]], capture_output=True, text=True, timeout=DEADLINE_S
            )
            self.assertGreater(done.returncode, 0, words)
            self.assertIn(named, done.stderr)
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
