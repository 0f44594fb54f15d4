"""The example that trains and serves a ResNet-18, on the processor, as a program of its own."""

import importlib.util
import json
import sys
import unittest

from harness import SOURCE, Program, skip_all

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


if __name__ == "__main__":
    unittest.main(verbosity=2)
