#!/usr/bin/env python3
"""What becomes of requests where the program's own functions fail, or answer otherwise than they should."""

import asyncio
import contextlib
import logging
import os
import pathlib
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import DEADLINE_SECONDS, ClientTest  # skips where a package is missing
from pretended_time import PretendedTime

import gearshift

try:
    import numpy
except ImportError:
    numpy = None


class Ending(ClientTest):
    """run() that ends by an error answers nothing until it is called again."""

    def test_an_error_of_training_leaves_no_request_without_an_end(self):
        calls, waits = [], threading.Event()

        def train():
            calls.append(None)
            if len(calls) == 3:
                waits.wait(DEADLINE_SECONDS)
                raise ZeroDivisionError

        one = gearshift.Interleaver(train=train, infer=list, batch_size=4, endpoint=self.endpoint)
        self.addCleanup(one.close)
        told = []
        one._server.report_requests = lambda counts: counts and told.append(counts)

        def run():
            with self.assertRaises(ZeroDivisionError):
                one.run()

        running = threading.Thread(target=run)
        running.start()
        self.until(lambda: len(calls) == 3)
        before, unwanted = one.submit(1), one.submit(2)
        self.assertTrue(unwanted.cancel())
        waits.set()
        running.join(DEADLINE_SECONDS)
        for future in (before, one.submit(3)):
            with self.assertRaisesRegex(gearshift.RequestDropped, "^ZeroDivisionError ended run()"):
                future.result(1)
        self.assertEqual([told[-1][name] for name in ("arrived", "refused", "queued")], [2, 0, 0])

        threading.Thread(target=one.run, daemon=True).start()  # the program has mended it
        self.until(lambda: len(calls) > 3)
        futures = [one.submit(number) for number in range(4)]
        self.assertEqual([future.result(DEADLINE_SECONDS) for future in futures], [0, 1, 2, 3])
        one.close()
        with self.assertRaisesRegex(gearshift.RequestDropped, "the server is closed"):
            one.submit(1).result(0)

    def test_a_stop_while_training_fails_ends_the_next_run(self):
        calls = []

        def train():
            calls.append(None)
            one.stop()
            raise ZeroDivisionError

        one = gearshift.Interleaver(train=train, infer=list, endpoint=self.endpoint)
        self.addCleanup(one.close)
        with self.assertRaises(ZeroDivisionError):
            one.run()
        one.run()
        self.assertEqual(len(calls), 1)
        with self.assertRaises(ZeroDivisionError):  # and none after that
            one.run()

    def test_a_forked_child_is_told_that_it_is_silent(self):
        one = gearshift.Interleaver(train=lambda: None, infer=list, endpoint=self.endpoint)
        self.addCleanup(one.close)
        child = os.fork()
        if child == 0:
            told = []
            with contextlib.suppress(AssertionError), self.assertLogs("gearshift", logging.WARNING) as logs:
                told = logs.output
                one.run(0)
            os._exit(["attached before a fork" in text for text in told] != [True])
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def stopped(self, *duration):
        """An interleaver whose run() is stopped from without, with a request that still waits."""
        begun = threading.Event()
        one = gearshift.Interleaver(train=begun.set, infer=list, latency_ms=60000, batch_size=4, endpoint=self.endpoint)
        self.addCleanup(one.close)
        running = threading.Thread(target=one.run, args=duration)
        running.start()
        self.assertTrue(begun.wait(DEADLINE_SECONDS))
        waiting = one.submit(1)
        one.stop()
        running.join(DEADLINE_SECONDS)
        self.assertFalse(running.is_alive())
        return one, waiting

    def test_stopping_leaves_no_request_without_an_end(self):
        one, waiting = self.stopped()
        for future in (waiting, one.submit(2)):
            with self.assertRaisesRegex(gearshift.RequestDropped, r"^stop\(\) ended run\(\)"):
                future.result(0)
        threading.Thread(target=one.run, daemon=True).start()
        self.until(lambda: not one._broken)
        futures = [one.submit(number) for number in range(4)]
        self.assertEqual([future.result(DEADLINE_SECONDS) for future in futures], [0, 1, 2, 3])

    def test_what_runs_without_end_is_stopped(self):
        self.stopped(float("inf"))

    def test_what_waits_when_its_time_is_over_waits_for_the_next_run(self):
        one = gearshift.Interleaver(infer=list, batch_size=4, endpoint=self.endpoint)
        self.addCleanup(one.close)
        one.run(0)
        futures = [one.submit(number) for number in range(4)]
        one.run(0.05)
        self.assertEqual([future.result(0) for future in futures], [0, 1, 2, 3])


class Bool:
    """As the truth values of numpy and torch, or a loss of theirs."""

    def __init__(self, value, dtype="bool", shape=()):
        self.value, self.dtype, self.shape = value, dtype, shape

    def __bool__(self):
        return bool(self.value)


class Answering(PretendedTime):
    def trained(self, answers):
        """How many minibatches are trained where `train` answers so."""
        left = iter(answers)
        one = self.interleaver(train=lambda: next(left))
        for _ in range(len(answers) + 1):
            if one._train is not None:
                one.step()
        return one.train_minibatches

    def test_training_ends_where_it_answers_false(self):
        goes_on = [None, True, Bool(True), 0, 0.0, "", [], Bool(0.0, "torch.float32"), Bool(False, shape=(2,))]
        for over in (False, Bool(False), Bool(False, "torch.bool")):
            self.assertEqual(self.trained([*goes_on, over]), len(goes_on))

    @unittest.skipUnless(numpy, "needs python3-numpy")
    def test_training_ends_where_it_answers_false_of_numpy(self):
        goes_on = [numpy.bool_(True), numpy.float32(0), numpy.zeros(2, bool)]
        self.assertEqual(self.trained([*goes_on, numpy.bool_(False)]), len(goes_on))

    def test_answers_without_an_order_are_none(self):
        for infer in (set, dict.fromkeys, lambda requests: dict.fromkeys(requests).keys()):
            one = self.interleaver(infer=infer, train=None)
            futures = [one.submit(number) for number in range(4)]
            with self.assertLogs("gearshift", logging.WARNING):
                one.step()
            for future in futures:
                self.assertRegex(str(future.exception(0)), "^infer gave [a-z_]+: give a list of as many answers")

    def test_what_ends_an_iterator_ends_no_wait(self):
        """asyncio takes no StopIteration, and who awaits the answer would never hear of it."""
        one = self.interleaver(infer=lambda requests: next(iter(())), train=None)

        async def ask():
            answer = asyncio.wrap_future(one.submit(1))
            with self.assertLogs("gearshift", logging.WARNING):
                self.steps(one, 2)
            await asyncio.wait_for(answer, 1)

        with self.assertRaisesRegex(RuntimeError, "infer raised StopIteration"):
            asyncio.run(ask())

    def logged(self, infer, times):
        one = self.interleaver(infer=infer, train=None)
        with self.assertLogs("gearshift", logging.WARNING) as logged:
            for _ in range(times):
                self.now += 10**9
                futures = [one.submit(number) for number in range(4)]
                one.step()
                self.assertIsInstance(futures[0].exception(0), ValueError)
        return logged.records

    def test_a_failure_that_comes_again_is_told_once_and_then_counted(self):
        def infer(requests):
            raise ValueError("no such label")

        records = self.logged(infer, 121)
        self.assertEqual([record.exc_info is not None for record in records], [True, False, False])
        self.assertEqual(
            [record.getMessage() for record in records[1:]],
            ["infer failed 60 times more, the last time by ValueError: no such label"] * 2,
        )

    def test_failures_that_are_never_the_same_do_not_fill_the_log(self):
        def infer(requests):
            raise ValueError(f"no such label: {self.now}")

        self.assertLess(len(self.logged(infer, 300)), 64 + 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
