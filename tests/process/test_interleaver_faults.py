#!/usr/bin/env python3
"""What becomes of requests where the program's own functions fail, or answer otherwise than they should."""

import logging
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
        with one._news:
            counts = one._log.take_due(2**62, one.queued)
        self.assertEqual([counts[name] for name in ("arrived", "refused", "queued")], [2, 1, 0])

        threading.Thread(target=one.run, daemon=True).start()  # the program has mended it
        self.until(lambda: len(calls) > 3)
        futures = [one.submit(number) for number in range(4)]
        self.assertEqual([future.result(DEADLINE_SECONDS) for future in futures], [0, 1, 2, 3])
        one.close()
        with self.assertRaisesRegex(gearshift.RequestDropped, "the server is closed"):
            one.submit(1).result(0)


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


if __name__ == "__main__":
    unittest.main(verbosity=2)
