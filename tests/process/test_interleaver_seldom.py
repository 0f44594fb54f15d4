#!/usr/bin/env python3
"""Requests that come one by one, to a Python process whose batches could be much larger."""

import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from pretended_time import MS, PretendedTime  # skips where a package is missing

SECOND = 10**9


class Seldom(PretendedTime):
    """What one request takes is one_ms, and each more in its minibatch more_ms."""

    one_ms, more_ms = 10, 0.5

    def infer(self, requests):
        self.infer_ms = self.one_ms + self.more_ms * (len(requests) - 1)
        self.now += round(self.infer_ms * MS)
        self.done.append(len(requests))
        return requests

    def arrive(self, one, every_ms, seconds):
        """Requests like clockwork; returns the future of each, and how often training ran."""
        futures, end, due = [], self.now + seconds * SECOND, self.now
        trained = one.train_minibatches

        def wait(timeout=None):
            self.now = min(self.now + round(timeout * 1e9), max(due, self.now))

        with mock.patch.object(one._news, "wait", wait):
            while self.now < end:
                while due <= self.now:
                    futures.append(one.submit(1))
                    due += round(every_ms * MS)
                one.step()
        return futures, one.train_minibatches - trained

    def assert_answered(self, futures, of=1.0):
        done = [future for future in futures if future.done()]
        self.assertGreaterEqual(len(done), len(futures) - 16)
        failures = [str(future.exception()) for future in done if future.exception() is not None]
        self.assertLessEqual(len(failures), (1 - of) * len(done), failures[:1])

    def test_are_answered_though_a_full_batch_by_proportion_would_be_late(self):
        for sizes, batch_size, one_ms in (([1, 4, 16], 16, 10), ([1, 2, 4, 8, 16], 4, 30), ([16], 16, 10)):
            for train in (None, self.train):
                with self.subTest(sizes=sizes, train=train):
                    self.one_ms = one_ms
                    one = self.interleaver(train=train, batch_size=batch_size, batch_sizes=sizes)
                    futures, trained = self.arrive(one, 200, 60)
                    self.assertEqual(len(futures), 300)
                    self.assert_answered(futures)
                    if train:
                        self.assertGreater(trained, 60 * 60)

    def know_all_sizes(self, one):
        for number in (16, 16, 4, 4, 1, 1):
            for _ in range(number):
                one.submit(1)
            self.steps(one, 12)

    def test_are_answered_though_a_full_batch_would_make_them_late(self):
        self.more_ms = 4.4  # 16 take 76 ms
        one = self.interleaver(batch_size=16)
        self.know_all_sizes(one)
        future = one.submit(1)
        self.now += 88 * MS  # a training minibatch took longer than any before
        self.assertEqual(self.steps(one, 1), [1])
        self.assert_answered([future])
        futures, trained = self.arrive(one, 197, 60)
        self.assert_answered(futures)
        self.assertGreater(trained, 60 * 60)

    def test_a_size_that_is_too_long_is_looked_at_again_and_keeps_no_single_request_out(self):
        self.more_ms = 10  # 16 take 160 ms
        one = self.interleaver(train=None, batch_size=16)
        for _ in range(2):
            for _ in range(16):
                one.submit(1)
            one.step()
        self.assertEqual(one._infer_times.estimate_ns(16), 160 * MS)
        for _ in range(2):
            one.submit(1)
            self.steps(one, 3)
        self.arrive(one, 200, 2)
        self.assertEqual([one._infer_times.estimate_ns(size) for size in (1, 16)], [10 * MS, 10 * MS])
        self.assert_answered(self.arrive(one, 200, 30)[0])

    def test_what_more_of_them_would_make_late_is_served_without_them(self):
        self.more_ms = 4.4
        one = self.interleaver(train=None, batch_size=16)
        self.know_all_sizes(one)
        futures = [one.submit(1) for _ in range(4)]
        self.now += 60 * MS
        futures.append(one.submit(1))  # with 16 as the size that holds five, the first would be late
        self.assertEqual(self.steps(one, 1), [4])
        self.assert_answered(futures[:4])
        self.now += 200 * MS
        one.step()
        futures = [one.submit(1) for _ in range(10)]
        self.now += 60 * MS
        futures.append(one.submit(1))
        self.assertEqual(self.steps(one, 1), [1])  # what four would leave behind is late all the same
        self.assertEqual([future.exception() is None for future in futures], [False] * 10 + [True])

    def test_training_stops_where_so_many_come_meanwhile_that_it_would_make_them_late(self):
        self.more_ms, self.train_ms = 3, 40
        one = self.interleaver(batch_size=16)
        self.know_all_sizes(one)
        self.train_ms = 40  # and 16 take 55 ms
        futures, trained = self.arrive(one, 6, 5)
        self.assert_answered(futures[200:], of=0.9)
        self.assertLess(trained, 20)
        futures, trained = self.arrive(one, 200, 5)
        self.assert_answered(futures)
        self.assertGreater(trained, 5 * 20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
