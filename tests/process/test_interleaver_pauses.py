#!/usr/bin/env python3
"""How a Python process that trains and serves hears that a pause is over."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from pretended_time import PretendedTime  # skips where a package is missing


class Pauses(PretendedTime):
    """The connections' own threads, which look twice a second, sleep: nothing is heard but by the loop."""

    def setUp(self):
        super().setUp()
        self.fake = self.daemon()
        self.one = self.interleaver(latency_ms=0)
        self.peers = {}
        while len(self.peers) < 2:
            kind = self.fake.attach()["kind"]
            self.peers[kind] = self.fake._peer
        self.links = {"train": self.one._trainer._connection, "infer": self.one._server._connection}
        self.until(lambda: all(link.attached for link in self.links.values()))
        for link in self.links.values():
            link._wake_ns = 10**15
            link._wake.put(None)
            self.until(link._wake.empty)

    def ask(self, kind, number, run):
        self.fake._peer = self.peers[kind]
        self.fake.set(number, self.links[kind].offer.batch_size, run)

    def pause(self, kind, run):
        link = self.links[kind]
        self.ask(kind, 1, run)
        self.until(link.news, link.service_if_free)
        self.fake.expect("applied", self.one.step, set=1)

    def test_training_goes_on_after_one(self):
        self.pause("train", "infer")
        self.assertEqual(self.steps(self.one, 3), [])
        self.ask("train", 2, "both")
        self.fake.expect("applied", self.one.step, set=2)
        self.assertEqual(self.steps(self.one, 1), ["train"])

    def test_requests_do_though_training_fills_the_time(self):
        self.pause("infer", "train")
        self.assertEqual(self.steps(self.one, 2), ["train"] * 2)
        self.ask("infer", 2, "both")
        self.fake.expect("applied", self.one.step, set=2)
        futures = [self.one.submit(number) for number in range(4)]
        self.assertEqual(self.steps(self.one, 1), [4])
        self.assertEqual(futures[3].result(0), 6)

    def test_one_begins_while_nothing_is_trained_or_asked(self):
        self.one._train = None
        self.ask("infer", 1, "train")
        self.fake.expect("applied", self.one.step, set=1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
