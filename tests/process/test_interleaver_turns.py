#!/usr/bin/env python3
"""A Python process that trains and serves, and takes turns with other programs for both."""

import pathlib
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import DEADLINE_SECONDS, ClientTest  # skips where a package is missing

import gearshift


class Turns(ClientTest):
    """In real time, with a daemon that gives turns as the test says."""

    def setUp(self):
        super().setUp()
        self.fake = self.daemon()
        self.done = []

        def infer(requests):
            self.done.append(len(requests))
            return requests

        self.one = gearshift.Interleaver(
            train=lambda: self.done.append("train"), infer=infer, latency_ms=10000, batch_size=2,
            endpoint=self.endpoint, turns=True,
        )
        self.addCleanup(self.one.close)
        self.peers = {}
        while len(self.peers) < 2:
            kind = self.fake.attach()["kind"]
            self.peers[kind] = self.fake._peer
        self.until(lambda: self.one._server.attached and self.one._trainer.attached)

    def run_in_thread(self, *arguments):
        thread = threading.Thread(target=self.one.run, args=arguments)
        thread.start()
        self.addCleanup(thread.join, DEADLINE_SECONDS)
        self.addCleanup(self.one.stop)
        return thread

    def expect(self, kind, type):
        message = self.fake.expect(type)
        self.assertEqual(self.fake._peer, self.peers[kind])
        return message["turn"]

    def give(self, kind):
        turn = self.expect(kind, "turn_request")
        self.fake.send("turn", turn=turn, longest_ns=10**10)
        self.assertEqual(self.expect(kind, "turn_end"), turn)

    def test_requests_that_are_due_do_not_wait_for_the_turn_to_train(self):
        self.run_in_thread()
        turn = self.expect("train", "turn_request")
        futures = [self.one.submit(number) for number in range(2)]  # a batch is full
        self.assertEqual(self.expect("train", "turn_end"), turn)
        self.give("infer")
        self.assertEqual([future.result(DEADLINE_SECONDS) for future in futures], [0, 1])
        self.assertEqual(self.done, [2])
        self.give("train")
        self.until(lambda: self.done == [2, "train"])

    def test_it_stops_while_it_waits_for_a_turn(self):
        futures = []
        for kind in ("train", "infer"):
            with self.subTest(kind):
                thread = self.run_in_thread()
                self.expect("train", "turn_request")
                if kind == "infer":
                    futures = [self.one.submit(number) for number in range(2)]
                    self.expect("train", "turn_end")
                    self.expect(kind, "turn_request")
                self.one.stop()
                thread.join(DEADLINE_SECONDS)
                self.assertFalse(thread.is_alive())
                self.expect(kind, "turn_end")
        self.assertEqual(self.done, [])
        self.assertIsInstance(futures[0].exception(0), gearshift.RequestDropped)

    def test_it_follows_the_daemon_while_it_waits_for_a_turn(self):
        self.run_in_thread()
        turn = self.expect("train", "turn_request")
        self.fake.set(1, 1, "infer")
        self.assertEqual(self.expect("train", "turn_end"), turn)
        self.fake.expect("applied", set=1, run="infer")
        futures = [self.one.submit(number) for number in range(2)]
        self.give("infer")
        self.assertEqual([future.result(DEADLINE_SECONDS) for future in futures], [0, 1])
        self.fake._peer = self.peers["train"]
        self.fake.set(2, 1, "both")
        self.give("train")
        self.until(lambda: self.done == [2, "train"])

    def test_requests_that_the_daemon_lets_wait_are_dropped_while_it_waits_for_a_turn_to_train(self):
        self.fake._peer = self.peers["infer"]
        self.fake.set(1, 2, "train")
        self.until(lambda: not self.one._server.should_run())
        self.one._queue._latency_ns = 1  # ns: it is over at once
        self.run_in_thread()
        self.expect("train", "turn_request")
        with self.assertRaisesRegex(gearshift.RequestDropped, "^it waited"):
            self.one.submit(1).result(DEADLINE_SECONDS)
        self.assertEqual(self.done, [])

    def test_it_waits_for_a_turn_no_longer_than_it_was_told_to_run(self):
        thread = self.run_in_thread(0.2)
        turn = self.expect("train", "turn_request")
        thread.join(DEADLINE_SECONDS)
        self.assertFalse(thread.is_alive())
        self.assertEqual(self.expect("train", "turn_end"), turn)


if __name__ == "__main__":
    unittest.main(verbosity=2)
