#!/usr/bin/env python3
"""What a Python interleaver does that its program chose: it fills batches or does not, saves, and serves where it was made."""

import logging
import os
import pathlib
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import DEADLINE_SECONDS, ClientTest  # skips where a package is missing
from pretended_time import MS, PretendedTime

import gearshift
from gearshift import planning


class Filling(PretendedTime):
    def test_without_a_limit_nobody_waits_for_a_batch_to_fill_where_nothing_trains(self):
        one = self.interleaver(train=None, latency_ms=0)
        futures = [one.submit(number) for number in range(3)]
        self.assertEqual(self.steps(one, 1), [3])
        self.assertEqual([future.result(0) for future in futures], [0, 2, 4])
        one = self.interleaver(latency_ms=0)
        one.submit(1)
        self.assertEqual(self.steps(one, 3), ["train"] * 3)
        one._train = None
        self.assertEqual(self.steps(one, 1), [1])

    def test_without_a_limit_a_batch_fills_whose_size_a_daemon_chose(self):
        fake = self.daemon()
        one = self.interleaver(train=None, latency_ms=0)
        fake.attach()
        self.until(lambda: one._server.attached)
        fake.set(1, 4, "both")
        fake.expect("applied", one.step, set=1)
        one.submit(1)
        began_ns = self.now
        while not self.done:
            one.step()
        self.assertGreaterEqual(self.now - began_ns, 1000 * MS)
        fake.send("bye")
        self.until(lambda: not one._server.attached)
        one.submit(1)
        self.assertEqual(self.steps(one, 1), [1])

    def answered_after_ms(self, one):
        future, began_ns = one.submit(1), self.now
        while not future.done():
            one.step()
        return (self.now - began_ns) / MS

    def test_a_wait_that_ends_late_begins_its_batch_sooner(self):
        one = self.interleaver(train=None)
        self.answered_after_ms(one)
        self.assertAlmostEqual(self.answered_after_ms(one), 90, delta=6)  # the first time is left out
        self.assertAlmostEqual(self.answered_after_ms(one), 90, delta=0.01)
        wait = one._news.wait

        def wait_late(timeout=None):
            wait(timeout + 0.007)

        one._news.wait = wait_late
        self.assertAlmostEqual(self.answered_after_ms(one), 97, delta=0.01)
        self.assertAlmostEqual(self.answered_after_ms(one), 90, delta=0.01)
        one._plan.oversleeping.add(50 * MS)
        one._news.wait = wait
        self.assertAlmostEqual(self.answered_after_ms(one), 80, delta=0.01)  # a tenth at most

    def test_how_late_a_wait_ends_is_the_most_of_the_newest(self):
        late = planning.Oversleeping()
        self.assertEqual(late.most_ns, 0)
        for late_ns in (70, *[3] * 255, -90):
            late.add(late_ns)
        self.assertEqual(late.most_ns, 70)
        late.add(0)
        self.assertEqual(late.most_ns, 3)


class Saving(ClientTest):
    def interleaver(self, **options):
        given = {"infer": lambda requests: requests, "latency_ms": 10000, "endpoint": self.endpoint, **options}
        one = gearshift.Interleaver(**given)
        self.addCleanup(one.close)
        return one

    def attach(self, fake, count):
        """Whether they save, by kind; their peers."""
        saves, peers = {}, {}
        for _ in range(count):
            hello = fake.attach()
            saves[hello["kind"]], peers[hello["kind"]] = hello.get("saves", False), fake._peer
        return saves, peers

    def test_what_it_trains_when_the_daemon_asks(self):
        fake, saved = self.daemon(), []
        one = self.interleaver(train=lambda: None, save=lambda: saved.append(one.train_minibatches))
        saves, peers = self.attach(fake, 2)
        self.assertEqual(saves, {"train": True, "infer": False})
        self.until(lambda: one._trainer.attached)
        fake._peer = peers["train"]
        fake.send("checkpoint", checkpoint=3, within_ns=30 * 10**9)
        self.assertEqual(fake.expect("saved", one.step)["checkpoint"], 3)
        self.assertEqual(len(saved), 1)

    def test_without_a_turn(self):
        fake, saved = self.daemon(), []
        one = self.interleaver(train=lambda: None, save=lambda: saved.append(True), turns=True)
        _, peers = self.attach(fake, 2)
        self.until(lambda: one._trainer.attached and one._server.attached)
        thread = threading.Thread(target=one.run)
        thread.start()
        self.addCleanup(thread.join, DEADLINE_SECONDS)
        self.addCleanup(one.stop)
        turn = fake.expect("turn_request")["turn"]  # which is given to nobody
        fake._peer = peers["train"]
        fake.send("checkpoint", checkpoint=1, within_ns=30 * 10**9)
        self.assertEqual(fake.expect("turn_end")["turn"], turn)
        fake.expect("saved")
        self.assertEqual(saved, [True])

    def test_what_it_serves_where_nothing_is_trained(self):
        fake, saved = self.daemon(), []
        one = self.interleaver(save=lambda: saved.append(True))
        saves, _ = self.attach(fake, 1)
        self.assertEqual(saves, {"infer": True})
        self.until(lambda: one._server.attached)
        fake.send("checkpoint", checkpoint=1, within_ns=30 * 10**9)
        fake.expect("saved", one.step)
        self.assertEqual(saved, [True])

    def test_with_what_is_no_function(self):
        with self.assertRaisesRegex(ValueError, "save"):
            self.interleaver(save=7)

    def test_both_kinds_name_its_key(self):
        self.endpoint = "tcp://127.0.0.1:1"
        with self.assertLogs("gearshift", logging.WARNING) as logs:
            self.interleaver(train=lambda: None, key="/no/such.key")
            self.until(lambda: len(logs.output) == 2)
        for line in logs.output:
            self.assertIn("/no/such.key", line)


class Forked(ClientTest):
    def told_by_a_child(self, one, runs):
        """What a forked child's request comes to, and its warnings."""
        reads, writes = os.pipe()
        if not (child := os.fork()):
            try:
                with self.assertLogs("gearshift", logging.WARNING) as logs:
                    if runs:
                        threading.Thread(target=one.run, daemon=True).start()
                        self.until(lambda: one._runs_in == os.getpid())
                    answers = [one.submit(1), one.submit(2)]
                    ended = [str(future.exception(5) or future.result()) for future in answers]
                os.write(writes, repr((ended, len(logs.output))).encode())
            finally:
                os._exit(0)
        os.close(writes)
        with open(reads, "rb") as pipe:
            told = pipe.read().decode()
        os.waitpid(child, 0)
        return told

    def test_a_request_to_one_that_was_made_before_the_fork_is_dropped(self):
        one = gearshift.Interleaver(infer=lambda requests: requests, latency_ms=100, endpoint=self.endpoint)
        self.addCleanup(one.close)
        thread = threading.Thread(target=one.run)
        thread.start()
        self.addCleanup(thread.join, DEADLINE_SECONDS)
        self.addCleanup(one.stop)
        self.assertEqual(one.submit(1).result(DEADLINE_SECONDS), 1)
        why = "made before a fork: make the Interleaver in each worker"
        self.assertEqual(self.told_by_a_child(one, runs=False), repr(([why] * 2, 1)))

    def test_where_the_child_runs_it_itself_it_serves_without_a_daemon(self):
        one = gearshift.Interleaver(infer=lambda requests: requests, latency_ms=10000, endpoint=self.endpoint)
        self.addCleanup(one.close)
        one.run(0.01)
        self.assertEqual(self.told_by_a_child(one, runs=True), repr((["1", "2"], 1)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
