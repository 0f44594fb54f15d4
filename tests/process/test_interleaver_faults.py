#!/usr/bin/env python3
"""What becomes of requests where the program's own functions fail, or answer otherwise than they should."""

import pathlib
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import DEADLINE_SECONDS, ClientTest  # skips where a package is missing

import gearshift


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


if __name__ == "__main__":
    unittest.main(verbosity=2)
