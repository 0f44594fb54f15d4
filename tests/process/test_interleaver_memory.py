#!/usr/bin/env python3
"""Batches of requests that do not fit in memory: which are run instead, and what the daemon hears of it."""

import logging
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from pretended_time import MS, PretendedTime  # skips where a package is missing

import gearshift

NO_ROOM = MemoryError()


class OutOfMemoryError(RuntimeError):
    """As torch.cuda.OutOfMemoryError is one."""


class Memory(PretendedTime):
    """A model of which so many requests at once fit."""

    def setUp(self):
        super().setUp()
        self.fits, self.failed = 8, []
        self.failure, self.failing_ms = NO_ROOM, 5
        logging.getLogger("gearshift").setLevel(logging.ERROR)

    def infer(self, requests):
        if len(requests) > self.fits:
            self.failed.append(len(requests))
            self.now += self.failing_ms * MS
            raise self.failure
        return super().infer(requests)

    def submit(self, one, number):
        return [one.submit(request) for request in range(number)]


class OutOfMemory(Memory):
    def test_its_requests_are_answered_in_smaller_ones_in_their_order(self):
        one = self.interleaver(batch_size=16, train=None)
        futures = self.submit(one, 16)
        self.assertEqual(self.steps(one, 5), [4, 4, 4, 4])
        self.assertEqual([future.result(0) for future in futures], [2 * number for number in range(16)])
        self.submit(one, 16)
        self.steps(one, 4)
        self.assertEqual(self.failed, [16])
        counts = one._log.take_due(self.now + 10**9, one.queued)
        self.assertEqual([counts[name] for name in ("arrived", "served", "late")], [32, 32, 0])

    def test_is_known_of_other_libraries_by_their_text(self):
        for failure in (
            OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
            RuntimeError("CUDA error: out of memory"),
            RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
            RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17 bytes."),
        ):
            with self.subTest(str(failure)):
                self.failure = failure
                one = self.interleaver(batch_size=16, train=None)
                futures = self.submit(one, 16)
                self.steps(one, 5)
                self.assertTrue(all(future.exception(0) is None for future in futures))

    def test_what_shows_only_at_the_end_of_a_minibatch_is_known_too(self):
        def synchronize():
            if self.done[-1] > 8:
                raise self.failure

        self.fits = 16
        one = self.interleaver(batch_size=16, train=None, synchronize=synchronize)
        futures = self.submit(one, 16)
        self.assertEqual(self.steps(one, 5), [16, 4, 4, 4, 4])
        self.assertEqual(futures[0].result(0), 0)

    def test_another_failure_is_no_reason_for_smaller_ones(self):
        self.failure = RuntimeError("no such label")
        one = self.interleaver(batch_size=16, train=None)
        futures = self.submit(one, 16)
        self.steps(one, 1)
        self.assertIs(futures[0].exception(0), self.failure)
        self.assertEqual(one._batch_size, 16)

    def test_of_the_smallest_size_its_requests_get_the_error(self):
        self.fits = 0
        one = self.interleaver(batch_size=16, train=None)
        futures = self.submit(one, 16)
        self.steps(one, 18)
        self.assertEqual(self.failed, [16, 4] + [1] * 16)
        self.assertEqual([future.exception(0) for future in futures], [NO_ROOM] * 16)

    def test_requests_that_are_late_by_then_are_dropped_once(self):
        self.failing_ms = 200
        one, told = self.interleaver(batch_size=16, train=None), []
        one._server.report_requests = lambda counts: counts and told.append(counts)
        futures = self.submit(one, 16)
        self.steps(one, 8)
        for future in futures:
            self.assertIsInstance(future.exception(0), gearshift.RequestDropped)
        for name, number in (("arrived", 16), ("served", 0), ("refused", 16)):
            self.assertEqual(sum(counts[name] for counts in told), number, name)

    def test_that_it_was_closed_meanwhile_leaves_no_request_without_an_end(self):
        one = self.interleaver(batch_size=16, train=None)
        fails = one._infer
        one._infer = lambda requests: one.close() or fails(requests)
        futures = self.submit(one, 16)
        one.step()
        self.assertIs(futures[0].exception(0), NO_ROOM)
        self.assertEqual(one.queued, 0)


class Told(Memory):
    """The daemon, which asked for the size."""

    def setUp(self):
        super().setUp()
        self.fake = self.daemon()
        self.one = self.interleaver(train=None, name="mobilenet")
        self.fake.attach()
        self.until(lambda: self.one._server.attached)

    def ask(self, number, batch_size, run="both"):
        self.fake.set(number, batch_size, run)
        self.until(lambda: self.one._server._connection.asked.number == number)

    def serve(self, *sizes):
        futures = self.submit(self.one, sum(sizes))
        self.done.clear()
        while not all(future.done() for future in futures):
            self.one.step()
        self.assertEqual(self.done, list(sizes))

    def test_hears_that_it_is_refused_although_it_was_applied(self):
        self.ask(1, 4)
        self.serve(4)
        self.ask(2, 16)
        self.serve(4, 4, 4, 4)
        self.fake.expect("applied", set=2, batch_size=16)
        told = self.fake.expect("refused", set=2)
        self.assertEqual(told["code"], "memory")
        self.assertEqual(told["message"], "16 requests at once do not fit in memory, 4 are answered at most")
        self.fake.expect("minibatch", set=1, batch_size=4)
        self.ask(3, 1)
        self.serve(1, 1)
        self.fake.expect("applied", set=3, batch_size=1)
        self.fake.expect("minibatch", set=3, batch_size=1)
        types = [message["type"] for message in self.fake.received]
        self.assertEqual(types.count("refused"), 1)

    def test_is_told_of_a_size_that_it_asks_for_again_again(self):
        for number in (1, 2):
            self.ask(number, 16)
            self.serve(4, 4, 4, 4)
            self.fake.expect("refused", set=number, code="memory")

    def test_goes_on_saying_whether_requests_run(self):
        self.ask(1, 16, "infer")
        self.serve(4, 4, 4, 4)
        self.assertEqual(self.one._server._connection.in_force.run, "infer")

    def test_that_did_not_ask_is_offered_less(self):
        own = self.interleaver(train=None, name="mobilenet", batch_size=16)
        self.assertEqual(self.fake.expect("hello", batch_size=16)["batch_sizes"], [1, 4, 16])
        self.fake.welcome()
        self.until(lambda: own._server.attached)
        self.one = own
        self.serve(4, 4, 4, 4)
        self.assertEqual(self.fake.expect("hello", batch_size=4)["batch_sizes"], [1, 4])
        self.fake.welcome()
        self.until(lambda: own._server.attached)
        self.serve(4)
        self.fake.expect("minibatch", set=0, batch_size=4)
        self.assertNotIn("refused", [message["type"] for message in self.fake.received])


if __name__ == "__main__":
    unittest.main(verbosity=2)
