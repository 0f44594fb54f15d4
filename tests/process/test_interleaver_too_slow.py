#!/usr/bin/env python3
"""Training beside requests none of which can be answered in time, until they can."""

import logging
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from pretended_time import MS, PretendedTime  # skips where a package is missing

SECOND = 10**9


class TooSlow(PretendedTime):
    def setUp(self):
        super().setUp()
        self.train_ms, self.infer_ms = 5, 50

    def arrive(self, one, seconds):
        """A request each 50 ms or with the step after; returns how many were answered, and how often training ran."""
        futures, end, due, trained = [], self.now + seconds * SECOND, self.now, one.train_minibatches
        while self.now < end:
            if self.now >= due:
                due = self.now + 50 * MS
                futures.append(one.submit(1))
            one.step()
        answered = sum(future.done() and future.exception() is None for future in futures)
        return answered, one.train_minibatches - trained

    def test_training_waits_for_none_and_people_are_told_once(self):
        one = self.interleaver(latency_ms=20)
        with self.assertLogs("gearshift", logging.WARNING) as told:
            _, trained = self.arrive(one, 30)
        self.assertEqual(
            [record.getMessage() for record in told.records],
            ["a request takes 50 ms, its latency is 20 ms: none can be answered in time"],
        )
        self.assertGreater(trained, 30 * 200 * 0.9)

    def test_they_are_tried_again_and_answered_once_they_are_faster(self):
        one = self.interleaver(latency_ms=20)
        self.arrive(one, 8)
        self.infer_ms = 5
        self.arrive(one, 20)  # until the next try, and what was known is forgotten
        answered, trained = self.arrive(one, 10)
        self.assertGreater(answered, 190)
        self.assertGreater(trained, 1000)

    def test_another_setting_is_tried_at_once(self):
        daemon = self.daemon()
        one = self.interleaver(latency_ms=20)
        peers = {}
        while len(peers) < 2:
            hello = daemon.attach()
            peers[hello["kind"]] = daemon._peer
        self.until(lambda: one._server.attached and one._trainer.attached)
        self.arrive(one, 40)
        self.infer_ms = 5
        self.assertEqual(self.arrive(one, 2)[0], 0)
        daemon._peer = peers["infer"]
        daemon.set(1, 4, "both")
        daemon.expect("applied", lambda: one.step(), set=1)
        self.assertGreater(self.arrive(one, 2)[0], 35)


if __name__ == "__main__":
    unittest.main(verbosity=2)
