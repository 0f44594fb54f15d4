#!/usr/bin/env python3
"""A trainer whose batches do not fit in memory, which catches that and goes back to a smaller size."""

import collections
import logging
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import ClientTest  # skips where a package is missing

NO_ROOM = MemoryError("64 do not fit")


class Sampler:
    """As ResizableBatchSampler, which needs PyTorch."""

    def __init__(self, batch_size):
        self.batch_size, self.drawn = batch_size, collections.deque()

    def resize(self, batch_size):
        self.batch_size = batch_size


class Loader:
    """Makes so many batches, each of the size of then."""

    def __init__(self, batch_size, batches):
        self.batch_sampler, self._batches = Sampler(batch_size), batches

    def __iter__(self):
        for _ in range(self._batches):
            size = self.batch_sampler.batch_size
            self.batch_sampler.drawn.append((size, size))
            yield [0] * size


class Memory(ClientTest):
    def setUp(self):
        super().setUp()
        logging.getLogger("gearshift").setLevel(logging.ERROR)

    def train(self, client, loader, fits):
        """Trains batches of so many samples at most; returns the sizes of all that came."""
        sizes = []
        for batch in client.batches(loader):
            sizes.append(len(batch))
            if len(batch) > fits:
                client.go_back(16, f"{len(batch)} do not fit", NO_ROOM)
        return sizes

    def reported(self, daemon, client):
        client.close()
        daemon.expect("bye")
        return [(m["set"], m["batch_size"]) for m in daemon.received if m["type"] == "minibatch"]

    def test_of_a_size_that_was_asked_for_it_is_refused(self):
        daemon, client = self.attached()
        daemon.set(1, 64)
        self.until(lambda: client.wanted_batch_size == 64)
        self.assertEqual(self.train(client, Loader(16, 4), 32), [64, 16, 16, 16])
        daemon.expect("applied", set=1, batch_size=64)
        self.assertEqual(daemon.expect("refused", set=1, code="memory")["message"], "64 do not fit")
        self.assertEqual(self.reported(daemon, client), [(0, 16)] * 3)

    def test_of_its_own_size_it_offers_less(self):
        daemon, client = self.attached(batch_size=64)
        self.assertEqual(self.train(client, Loader(64, 2), 32), [64, 16])
        hello = daemon.expect("hello", batch_size=16)
        self.assertEqual(hello["batch_sizes"], [8, 16, 32])
        daemon.welcome()
        self.until(lambda: client.attached)
        self.train(client, Loader(16, 2), 32)
        self.assertEqual(set(self.reported(daemon, client)), {(0, 16)})

    def test_before_there_is_a_daemon_it_offers_less_from_the_first(self):
        client = self.attach(batch_size=64)
        self.assertEqual(self.train(client, Loader(64, 2), 32), [64, 16])
        hello = self.daemon().attach()
        self.assertEqual((hello["batch_size"], hello["batch_sizes"]), (16, [8, 16, 32]))

    def test_what_was_fetched_ahead_changes_nothing_more(self):
        daemon, client = self.attached(batch_size=64)
        for _ in range(2):
            with client.minibatch(batch_size=64):
                client.go_back(16, "64 do not fit", NO_ROOM)
        self.assertEqual(daemon.expect("hello", batch_size=16)["batch_sizes"], [8, 16, 32])
        daemon.welcome()
        self.until(lambda: client.attached)
        self.step(client)
        self.assertEqual(self.reported(daemon, client), [(0, 16)])

    def test_a_size_that_is_not_offered_is_told(self):
        _, client = self.attached(batch_size=64)
        with self.assertLogs("gearshift", logging.WARNING) as logs:
            client.go_back(24, "64 do not fit", NO_ROOM)
        self.assertIn("go_back(24): give one of the batch sizes offered, 8, 16, 32, 64", logs.output[0])
        self.assertEqual(client.wanted_batch_size, 64)
        with self.assertLogs("gearshift", logging.WARNING) as logs:
            self.assertEqual(self.train(client, Loader(16, 2), 64), [16, 16])
        self.assertIn("the loader makes batches of 16, and attach() was told 64", logs.output[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
