#!/usr/bin/env python3
"""Training and serving in one Python process, with a daemon and without one."""

import decimal
import itertools
import logging
import pathlib
import signal
import sys
import threading
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import DEADLINE_SECONDS, ClientTest  # skips where a package is missing
from pretended_time import MS, PretendedTime

import gearshift

class Interleaving(PretendedTime):
    def test_trains_until_a_batch_is_full(self):
        one = self.interleaver()
        self.assertEqual(self.steps(one, 3), ["train"] * 3)
        futures = [one.submit(number) for number in range(3)]
        self.assertEqual(self.steps(one, 1), ["train"])
        futures.append(one.submit(3))
        self.assertEqual(self.steps(one, 2), [4, "train"])
        self.assertEqual([future.result(0) for future in futures], [0, 2, 4, 6])

    def test_serves_a_batch_that_is_not_full_where_one_more_training_minibatch_is_too_much(self):
        one = self.interleaver()
        for _ in range(2):  # the first times are left out
            for number in range(4):
                one.submit(number)
            one.step()
        self.steps(one, 2)
        future = one.submit(1)
        # 90 - 10 - 5: it waits for 80 ms, after which another 10 would be too long.
        self.assertEqual(self.steps(one, 9), ["train"] * 8 + [1])
        self.assertEqual(future.result(0), 2)

    def test_training_that_is_too_long_waits_for_as_long_as_requests_come(self):
        one = self.interleaver()
        self.train_ms = 95
        for _ in range(2):
            for number in range(4):
                one.submit(number)
            one.step()
        self.steps(one, 2)
        one.submit(1)
        self.steps(one, 200)
        # It waits until its latest start, is served, and nothing trains for the second after it.
        self.assertEqual(self.done[:2], [1, "train"])
        self.assertGreaterEqual(self.now, 10**9 + 10**9)

    def test_one_slow_minibatch_does_not_keep_training_out_for_good(self):
        one = self.interleaver()
        self.steps(one, 2)
        one._train_times.restart()
        self.train_ms = 99
        self.steps(one, 1)
        self.train_ms = 10
        trained = 0
        for _ in range(400):  # a request each 10 ms, which never ends
            one.submit(1)
            one.step()
            trained += self.done[-1:] == ["train"]
            self.now += 5 * MS
        self.assertGreater(trained, 50)

    def stream(self, one, steps):
        """A request each 10 ms; returns how many of them were answered, and how often training ran."""
        futures, trained = [], 0
        for _ in range(steps):
            futures.append(one.submit(1))
            one.step()
            trained += self.done[-1:] == ["train"]
            self.now += 5 * MS
        return sum(future.done() and future.exception() is None for future in futures), trained

    def test_shapes_that_are_made_ready_when_they_are_first_run_keep_nobody_out_for_good(self):
        one, seen = self.interleaver(batch_size=16), set()

        def infer(requests):
            self.now += 0 if len(requests) in seen else 120 * MS
            seen.add(len(requests))
            return self.infer(requests)

        one._infer = infer
        one._follow = lambda: (False, True)  # nothing else fills the time
        answered = []
        for _ in range(2):
            for number in range(5, 13):
                futures = [one.submit(request) for request in range(number)]
                for _ in range(4):
                    one.step()
                answered.append(sum(future.done() and future.exception() is None for future in futures))
        self.assertEqual(answered[8:], [5, 6, 7, 8, 9, 10, 11, 12])

    def test_requests_are_answered_again_after_some_slow_minibatches_of_them(self):
        one = self.interleaver(train=None)
        self.infer_ms = 200
        for _ in range(12):  # what is known of one request is left out, of two and more it is believed
            for number in range(4):
                one.submit(number)
            one.step()
        self.infer_ms = 5
        self.assertIsInstance(one.submit(1).exception(0), gearshift.RequestRefused)
        self.stream(one, 400)
        answered, _ = self.stream(one, 100)
        self.assertGreater(answered, 90)

    def test_refuses_what_would_be_late_and_drops_what_is(self):
        one = self.interleaver()
        self.infer_ms = 30
        for _ in range(2):
            for number in range(4):
                one.submit(number)
            one.step()
        futures = [one.submit(number) for number in range(13)]
        refused = futures.pop().exception(0)  # 3 minibatches of 30 ms go before it
        self.assertIsInstance(refused, gearshift.RequestRefused)
        self.assertIn("12 requests wait, and 4 take 30.0 ms", str(refused))
        self.infer_ms = 80  # and now it takes longer than it did
        self.assertEqual(self.steps(one, 3), [4, "train"])  # one step finds nothing left to answer
        for future in futures[4:]:
            self.assertIsInstance(future.exception(0), gearshift.RequestDropped)
        self.assertEqual([future.result(0) for future in futures[:4]], [0, 2, 4, 6])

    def test_waits_for_a_full_batch_where_nothing_is_trained(self):
        one = self.interleaver(train=None)
        for _ in range(2):
            for number in range(4):
                one.submit(number)
            one.step()
        began, future = self.now, one.submit(1)
        while not future.done():
            one.step()
        self.assertEqual(self.done[-1:], [1])
        self.assertGreater(self.now - began, 85 * MS)
        self.assertLess(self.now - began, 91 * MS)

    def test_goes_on_serving_when_training_is_over(self):
        one = self.interleaver(train=iter(lambda: self.train(), self))  # never ends
        self.assertEqual(self.steps(one, 1), ["train"])
        two = self.interleaver(train=(self.train() for _ in range(2)))
        self.assertEqual(self.steps(two, 4), ["train", "train"])
        three = self.interleaver(train=lambda: False)
        self.steps(three, 3)
        self.assertEqual((two.train_minibatches, three.train_minibatches), (2, 0))
        futures = [two.submit(number) for number in range(4)]
        self.assertEqual(self.steps(two, 1), [4])
        self.assertEqual(futures[3].result(0), 6)

    def test_an_error_of_the_model_goes_to_its_requests(self):
        one = self.interleaver(infer=lambda requests: requests[:1])
        futures = [one.submit(number) for number in range(4)]
        with self.assertLogs("gearshift", logging.WARNING):
            one.step()
        self.assertIn("1 answers to 4 requests", str(futures[0].exception(0)))
        self.assertEqual(self.steps(one, 1), ["train"])

    def test_answers_that_are_no_list_are_named(self):
        for infer, said in (
            (lambda requests: None, "infer gave NoneType: give a list"),
            (lambda requests: (request for request in requests), "infer gave generator: give a list"),
        ):
            one = self.interleaver(infer=infer)
            futures = [one.submit(number) for number in range(4)]
            with self.assertLogs("gearshift", logging.WARNING):
                one.step()
            self.assertIn(said, str(futures[3].exception(0)))

    def test_a_full_queue_is_named_where_there_is_no_limit(self):
        one = self.interleaver(latency_ms=0)
        with mock.patch("gearshift.interleaver.MOST_QUEUED", 5), mock.patch("gearshift.requests.MOST_QUEUED", 5):
            refused = [one.submit(number) for number in range(6)][-1].exception(0)
        self.assertIsInstance(refused, gearshift.RequestRefused)
        self.assertEqual(str(refused), "5 requests wait, which is the most")

    def test_an_error_that_synchronize_brings_to_light_goes_to_its_requests(self):
        one = self.interleaver(train=None, synchronize=lambda: 1 / 0)
        futures = [one.submit(number) for number in range(4)]
        with self.assertLogs("gearshift", logging.WARNING):
            one.step()
        for future in futures:
            self.assertIsInstance(future.exception(0), ZeroDivisionError)
        self.assertEqual(one._log.take_due(self.now + 10**9, 0)["late"], 0)

    def test_ctrl_c_leaves_no_request_without_an_end(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        for option in ("infer", "synchronize"):
            with self.subTest(option):
                one = self.interleaver(**{"train": None, option: interrupt})
                futures = [one.submit(number) for number in range(5)]
                with self.assertRaises(KeyboardInterrupt), one:
                    one.run()
                for future in futures:  # those that wait for them are not who is interrupted
                    self.assertIsInstance(future.exception(0), gearshift.RequestDropped)
                self.assertIn("KeyboardInterrupt", str(futures[0].exception(0)))
                self.assertEqual([counts["late"] for counts in self.told], [0])

    def test_a_signal_may_stop_it_at_any_time(self):
        one = self.interleaver()
        before = signal.signal(signal.SIGUSR1, lambda *_: one.stop())
        self.addCleanup(signal.signal, signal.SIGUSR1, before)

        def signalled(*_):  # while it holds what stop() takes
            self.assertTrue(one._news.acquire(blocking=False), "stop() would wait for itself")
            one._news.release()
            signal.raise_signal(signal.SIGUSR1)

        with mock.patch.object(one._plan, "judge", signalled):
            one.run()
        self.assertEqual(self.done, ["train"])

    def test_closing_drops_what_waits(self):
        one = self.interleaver()
        waiting = one.submit(1)
        one.close()
        self.assertIsInstance(waiting.exception(0), gearshift.RequestDropped)
        self.assertIsInstance(one.submit(1).exception(0), gearshift.RequestDropped)

    def test_a_request_that_nobody_wants_any_more_takes_no_place(self):
        one = self.interleaver()
        futures = [one.submit(number) for number in range(4)]
        futures.append(one.submit(4))
        self.assertTrue(futures[1].cancel())
        self.assertEqual(self.steps(one, 1), [4])
        self.assertEqual(futures[3].result(0), 6)

    def test_options_that_cannot_be(self):
        with self.assertRaisesRegex(ValueError, "infer None"):
            self.interleaver(infer=None)
        with self.assertRaisesRegex(ValueError, "latency_ms -1"):
            self.interleaver(latency_ms=-1)
        with self.assertRaisesRegex(ValueError, "^train_batch_size 0: give 1 to 1048576"):
            with mock.patch("gearshift.client.attach", side_effect=AssertionError("it attached")):
                self.interleaver(train_batch_size=0)
        with self.assertRaisesRegex(ValueError, "^batch_size 0: give 1 to 1048576"):
            self.interleaver(batch_size=0, batch_sizes=None)


class Reporting(PretendedTime):
    def attached_interleaver(self, **options):
        daemon = self.daemon()
        one = self.interleaver(**options)
        hellos = {}
        while len(hellos) < 2:
            hello = daemon.attach()
            hellos[hello["kind"]] = hello
            hellos[hello["kind"]]["peer"] = daemon._peer
        self.until(lambda: one._server.attached and one._trainer.attached)
        return daemon, one, hellos

    def test_attaches_twice_and_reports_pure_times(self):
        daemon, one, hellos = self.attached_interleaver(train_batch_size=16, samples_per_epoch=32)
        self.assertEqual(hellos["infer"]["latency_ns"], 100 * MS)
        self.assertEqual(hellos["infer"]["batch_sizes"], [1, 4, 16])
        self.assertEqual(hellos["train"]["batch_sizes"], [16])
        for number in range(4):
            one.submit(number)
            self.steps(one, 1)
        self.steps(one, 2)
        self.now += 500 * MS
        self.steps(one, 1)
        for link in (one._trainer._connection, one._server._connection):
            link.service_if_free()
        # Two connections: which one's reports come first is nobody's promise.
        reports = []
        while len(reports) < 7 - 1 or all(report["batch_size"] != 4 for report in reports):
            reports.append(daemon.expect("minibatch"))
        trains = [report for report in reports if report["batch_size"] == 16]
        serves = [report for report in reports if report["batch_size"] == 4]
        self.assertEqual({report["elapsed_ns"] for report in trains}, {10 * MS})
        self.assertEqual([report["elapsed_ns"] for report in serves], [5 * MS])
        self.assertEqual([report["epoch"] for report in trains][:4], [0, 0, 1, 1])
        told = (message for message in daemon.received if message["type"] == "requests")
        requests = next(told, None) or daemon.expect("requests")
        fields = ("arrived", "served", "late", "refused", "queued", "latency_max_ns")
        self.assertEqual([requests[field] for field in fields], [4, 4, 0, 0, 0, 35 * MS])

    def test_takes_whole_numbers_of_any_type(self):
        for whole in (float, decimal.Decimal):
            with self.subTest(whole.__name__):
                daemon, one, hellos = self.attached_interleaver(
                    batch_size=whole(4), train_batch_size=whole(16), samples_per_epoch=whole(32)
                )
                futures = [one.submit(number) for number in range(5)]
                self.assertEqual(self.steps(one, 3), [4, "train", "train"])
                self.assertEqual(futures[3].result(0), 6)
                one._trainer._connection.service_if_free()
                report = daemon.expect("minibatch", batch_size=16)
                self.assertEqual((report["epoch"], type(report["epoch"])), (0, int))
                one.close()
                daemon.die()

    def test_follows_a_batch_size_and_a_pause(self):
        daemon, one, hellos = self.attached_interleaver()
        daemon._peer = hellos["infer"]["peer"]
        daemon.set(1, 1, "infer")
        daemon.expect("applied", lambda: one.step(), set=1, batch_size=1)
        daemon._peer = hellos["train"]["peer"]
        daemon.set(2, 1, "infer")
        daemon.expect("applied", lambda: one.step(), set=2)
        self.assertEqual(self.steps(one, 3), [])
        one.submit(1)
        self.assertEqual(self.steps(one, 1), [1])
        daemon.set(3, 1, "both")
        daemon.expect("applied", lambda: one.step(), set=3)
        self.assertEqual(self.steps(one, 1), ["train"])

    def test_says_bye_for_its_trainer_when_training_is_over(self):
        daemon, one, hellos = self.attached_interleaver(train=lambda: False)
        with mock.patch.object(one._trainer._connection, "close") as close:
            self.steps(one, 1)
        close.assert_not_called()  # it waits, and requests with it
        daemon.expect("bye")
        self.assertEqual(daemon._peer, hellos["train"]["peer"])
        self.assertTrue(one._server.attached)
        futures = [one.submit(number) for number in range(4)]
        self.assertEqual(self.steps(one, 1), [4])
        self.assertEqual(futures[3].result(0), 6)

    def test_a_pause_while_it_waits_for_its_turn_to_train_keeps_no_request_waiting(self):
        daemon, one, hellos = self.attached_interleaver(turns=True)
        daemon._peer = hellos["train"]["peer"]
        take_turn = one._trainer._connection.take_turn

        def pause_first(*arguments):
            daemon.set(1, 1, "infer")
            self.until(lambda: not one._trainer.should_run())
            daemon.send("turn", turn=1, longest_ns=10**10)
            return take_turn(*arguments)

        with mock.patch.object(one._trainer._connection, "take_turn", pause_first):
            self.assertEqual(self.steps(one, 1), [])
        self.assertEqual(one._trainer.should_run(), False)

    def test_a_pause_ends_with_the_daemon(self):
        daemon, one, hellos = self.attached_interleaver()
        daemon._peer = hellos["train"]["peer"]
        daemon.set(1, 1, "infer")
        daemon.expect("applied", lambda: one.step(), set=1)
        daemon.send("bye")
        self.until(lambda: self.steps(one, 1) == ["train"])


class Threads(ClientTest):
    """In real time, with a thread that sends requests, or one that closes it."""

    def test_closing_ends_the_run_of_another_thread(self):
        trained = threading.Event()
        one = gearshift.Interleaver(train=trained.set, infer=list, endpoint=self.endpoint)
        running = threading.Thread(target=one.run, daemon=True)
        running.start()
        self.assertTrue(trained.wait(DEADLINE_SECONDS))
        one.close()
        running.join(DEADLINE_SECONDS)
        self.assertFalse(running.is_alive())

    def test_every_request_ends_and_training_goes_on(self):
        trained = itertools.count()
        one = gearshift.Interleaver(
            train=lambda: next(trained) and None, infer=lambda requests: requests, latency_ms=1000,
            batch_size=4, endpoint=self.endpoint,
        )
        self.addCleanup(one.close)
        ended = threading.Semaphore(0)
        results = []

        def arrive():
            for number in range(500):
                future = one.submit(number)
                future.add_done_callback(lambda done: (results.append(done), ended.release()))
            for _ in range(500):
                ended.acquire(timeout=DEADLINE_SECONDS)
            one.stop()

        arriving = threading.Thread(target=arrive)
        arriving.start()
        one.run(DEADLINE_SECONDS)
        arriving.join(DEADLINE_SECONDS)
        self.assertEqual(len(results), 500)
        answered = [future.result() for future in results if future.exception() is None]
        self.assertEqual(answered, sorted(set(answered)))
        self.assertGreater(len(answered), 400)
        self.assertGreater(one.train_minibatches, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
