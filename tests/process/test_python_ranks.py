#!/usr/bin/env python3
"""Ranks that train together, as torchrun starts them: they change the batch size together, or none does."""

import json
import logging
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import ROOT, ClientTest  # skips where a package is missing
from harness import Program, Stack

from gearshift import resizing

try:
    import torch
    from torch import distributed

    several = distributed.is_available()
    import gearshift.torch
except ImportError:
    several = False

# Two batch sizes in turn, and then what is fastest of all that are offered.
SEARCH = """
local best
for _, batch in ipairs(batch_sizes.train) do
  local answer = measure { cpu_cores = 8, cpu_mhz = knobs.cpu_mhz[15], gpu_mhz = knobs.gpu_mhz[3],
                           mem_mhz = knobs.mem_mhz[3], train_batch = batch }
  if answer.ok and (not best or answer.value < best.value) then best = answer end
end
return best.setting
"""


def pretended(world_size):
    """torch.distributed as a program has it that is one of so many ranks; 0: that has not begun to be."""
    module = types.SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: world_size > 0, get_world_size=lambda: world_size
    )
    return mock.patch.dict(sys.modules, {"torch.distributed": module})


class OneOfMany(unittest.TestCase):
    def test_is_who_has_others_beside_it(self):
        for world_size, is_one in ((0, False), (1, False), (2, True)):
            with self.subTest(world_size), pretended(world_size):
                self.assertEqual(resizing.one_of_many(), is_one)

    def test_is_nobody_whose_torch_knows_no_ranks(self):
        without = types.SimpleNamespace(is_available=lambda: False)  # it has no is_initialized
        for module in (without, None):
            with mock.patch.dict(sys.modules, {"torch.distributed": module}):
                self.assertFalse(resizing.one_of_many())


@unittest.skipUnless(several, "needs python3-torch")
class Rank(ClientTest):
    def follow(self, **options):
        """The sizes of 8 batches, of which the third is asked to have 64 samples; and the daemon."""
        daemon, client = self.attached()
        data = torch.utils.data.TensorDataset(torch.arange(1000))
        sizes = []
        for (batch,) in client.batches(gearshift.torch.resizable_loader(data, 16), **options):
            sizes.append(len(batch))
            if len(sizes) == 2:
                daemon.set(1, 64)
                self.until(lambda: client._connection.asked.number == 1)
            if len(sizes) == 8:
                break
        return sizes, daemon

    def test_refuses_another_size_and_says_why_once(self):
        with pretended(world_size=2), self.assertLogs("gearshift", logging.WARNING) as logs:
            sizes, daemon = self.follow()
        self.assertEqual(sizes, [16] * 8)
        self.assertEqual(daemon.expect("refused")["code"], "batch_size")
        self.assertEqual(len(logs.output), 1)
        self.assertIn("agree=", logs.output[0])

    def test_takes_the_size_that_all_agree_on(self):
        asked = []
        with pretended(world_size=2), self.assertNoLogs("gearshift", logging.WARNING):
            sizes, daemon = self.follow(agree=lambda wanted: asked.append(wanted) or wanted)
        self.assertEqual(sizes, [16] * 2 + [64] * 6)
        self.assertEqual(asked, [16] * 2 + [64] * 6)
        daemon.expect("applied", set=1)

    def test_refuses_what_the_others_do_not_agree_on(self):
        with mock.patch("gearshift.client.UNTAKEN_IN_A_ROW", 3), self.assertLogs("gearshift"):
            sizes, daemon = self.follow(agree=lambda wanted: 32)
        self.assertEqual(sizes, [32] * 8)
        self.assertEqual(daemon.expect("refused")["code"], "batch_size")

    def test_that_cannot_agree_is_told(self):
        def agree(wanted):
            raise RuntimeError("connection closed by peer")

        with self.assertRaisesRegex(RuntimeError, "closed by peer"):
            self.follow(agree=agree)

    def test_alone_follows_as_ever(self):
        with pretended(world_size=1):
            sizes, _ = self.follow()
        self.assertEqual(sizes, [16] * 2 + [64] * 6)


@unittest.skipUnless(several, "needs python3-torch")
class Together(unittest.TestCase):
    def train(self, how):
        """A search beside two ranks; the batch sizes of each epoch of each, what they said, what was held, measured."""
        with Stack(noise="0%") as stack, tempfile.TemporaryDirectory() as folder:
            daemon = stack.daemon(stack.script(SEARCH))
            words = [sys.executable, ROOT / "tests/fakes/rank.py"]
            ranks = [
                stack.start(Program, [*words, str(rank), folder, stack.endpoint, how, stack.mount], f"rank {rank}")
                for rank in (0, 1)
            ]
            held = daemon.note("hold")["setting"]
            pathlib.Path(folder, "over").touch()
            for rank in ranks:
                self.assertEqual(rank.finish(), 0, rank.tail())
            measured = [note["setting"]["train_batch"] for note in daemon.notes("observation") if note["ok"]]
            said = [line for rank in ranks for line in rank.lines if line.startswith("rank ")]
            return [json.loads(rank.lines[-1]) for rank in ranks], said, held, measured

    def test_ranks_that_do_not_agree_keep_their_size_and_are_searched_without(self):
        epochs, said, held, measured = self.train("")
        self.assertEqual(epochs[0], epochs[1])
        self.assertEqual({size for epoch in epochs[0] for size in epoch}, {16})
        self.assertEqual((held["train_batch"], measured), (16, [16]))
        self.assertEqual(sum("refused" in line for line in said), 1, said)

    def test_ranks_that_agree_change_together(self):
        epochs, _, held, measured = self.train("agree")
        self.assertEqual(epochs[0], epochs[1])
        self.assertEqual(sorted(set(measured)), [8, 16, 32, 64])
        self.assertEqual({sum(epoch) for epoch in epochs[0]}, {1024})


if __name__ == "__main__":
    unittest.main(verbosity=2)
