#!/usr/bin/env python3
"""What the Python client leaves out of minibatches: evaluations and checkpoints within an epoch."""

import contextlib
import logging
import pathlib
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from pretended_time import PretendedClock  # skips where a package is missing
from readme_code import readme_code

BATCH = [0] * 16


class Aside(PretendedClock):
    def work(self, milliseconds):
        self.now += milliseconds * 10**6

    def aside(self, client, milliseconds=4000):
        with client.aside():
            self.work(milliseconds)

    def expect_times(self, daemon, *wanted):
        """Milliseconds: elapsed, fetch stall, compute, of each report."""
        reports = [daemon.expect("minibatch") for _ in wanted]
        names = ("elapsed_ns", "fetch_stall_ns", "compute_ns")
        self.assertEqual([tuple(report[name] // 10**6 for name in names) for report in reports], list(wanted))

    def test_in_the_body_of_batches(self):
        daemon, client = self.attached()

        def loader():
            for stall in (5, 1):
                self.work(stall)
                yield BATCH

        for _ in client.batches(loader()):
            self.work(8)
            self.aside(client)
            self.work(12)
        self.expect_times(daemon, (25, 5, 20), (21, 1, 20))

    def test_in_a_minibatch_and_between_two(self):
        daemon, client = self.attached()
        for _ in range(2):
            with client.minibatch(epoch=0) as minibatch:
                self.work(2)
                self.aside(client)
                minibatch.fetched()
                self.work(20)
                self.aside(client)
            self.work(1)
            self.aside(client, 90_000)
            self.work(2)
        with client.minibatch(epoch=0):
            self.work(20)
        self.expect_times(daemon, (22, 2, 20), (25, 5, 20), (23, 3, 20))

    def test_for_longer_than_a_minibatch_may_take(self):
        daemon, client = self.attached()
        self.step(client)
        self.aside(client, 2 * 3600 * 1000)
        with client.minibatch():
            self.work(20)
        self.expect_times(daemon, (0, 0, 0), (20, 0, 20))

    def test_one_in_another_or_beside_a_turn_counts_once(self):
        daemon, client = self.attached()
        client._connection.take_turn = lambda gives_up: self.work(100) or 0
        for _ in client.batches([BATCH]):
            with client.aside():
                self.work(1000)
                self.aside(client, 500)
                with client.turn():
                    self.work(10)
            with client.turn():
                self.work(20)
        self.expect_times(daemon, (20, 0, 20))

    def test_that_ends_with_an_exception_is_over(self):
        daemon, client = self.attached()
        for _ in client.batches([BATCH]):
            with contextlib.suppress(OSError), client.aside():
                self.work(4000)
                raise OSError("the disk is full")
            self.work(20)
        self.expect_times(daemon, (20, 0, 20))

    def test_minibatches_in_it_are_not_reported(self):
        daemon, client = self.attached()
        with client.minibatch():
            self.work(20)
            with client.aside():
                for _ in client.batches([BATCH] * 3):
                    self.work(30)
        client.close()
        daemon.expect("bye")
        reports = [message["elapsed_ns"] for message in daemon.received if message["type"] == "minibatch"]
        self.assertEqual(reports, [20 * 10**6])

    def test_what_a_gpu_was_given_before_it_and_in_it_is_waited_for(self):
        given = []  # milliseconds of kernels that run behind the program's back

        def synchronize():
            self.work(sum(given))
            given.clear()

        daemon, client = self.attached(synchronize=synchronize)
        for _ in client.batches([BATCH]):
            given.append(20)
            with client.aside():
                given.append(3000)
        self.expect_times(daemon, (20, 0, 20))

    def test_needs_no_daemon(self):
        client = self.attach()
        with self.assertNoLogs("gearshift", logging.WARNING):
            self.aside(client)
            client.close()
            self.aside(client)

    def test_by_the_callbacks_that_the_readme_shows(self):
        """In the order in which Hugging Face's Trainer calls them."""
        daemon, client = self.attached(batch_sizes=None)
        names = {"transformers": types.SimpleNamespace(TrainerCallback=object), "contextlib": contextlib}
        exec(readme_code("class Gearshift("), names)
        callback = names["Gearshift"](client)
        state = types.SimpleNamespace(epoch=0.0)
        for step in range(4):
            control = types.SimpleNamespace(should_evaluate=step == 1, should_save=step in (1, 2))
            self.work(5)  # fetches
            callback.on_step_begin(None, state, control, model=None)
            self.work(20)
            callback.on_step_end(None, state, control, model=None)
            self.work(4000 * control.should_evaluate + 1000 * control.should_save)
        self.expect_times(daemon, (20, 0, 20), (25, 5, 20), (20, 0, 20), (20, 0, 20))


if __name__ == "__main__":
    unittest.main(verbosity=2)
