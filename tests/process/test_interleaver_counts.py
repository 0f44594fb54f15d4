#!/usr/bin/env python3
"""What the daemon hears of requests that get no answer: late are those whose time was over, whatever ended them."""

import concurrent.futures
import contextlib
import logging
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from pretended_time import MS, PretendedTime  # skips where a package is missing

import gearshift


class Counted(PretendedTime):
    def submit(self, one, number):
        return [one.submit(request) for request in range(number)]

    def counts(self, one):
        """How many arrived, were served, late, and refused or dropped."""
        rest = one._log.take_due(self.now + 10**9, one.queued)
        told = self.told + ([rest] if rest else [])
        return [sum(counts[name] for counts in told) for name in ("arrived", "served", "late", "refused")]


class Failing(Counted):
    """By what the program itself does: no power setting is to blame."""

    def test_requests_whose_model_fails_are_late_where_their_time_was_over(self):
        def infer(requests):
            super(Failing, self).infer(requests)
            raise ValueError("no such label")

        for infer_ms, late in ((5, 0), (100, 0), (101, 4)):
            with self.subTest(infer_ms):
                one = self.interleaver(infer=infer)
                self.infer_ms = infer_ms
                futures = self.submit(one, 4)
                with self.assertLogs("gearshift", logging.WARNING):
                    one.step()
                self.assertIsInstance(futures[3].exception(0), ValueError)
                self.assertEqual(self.counts(one), [4, 0, late, late])

    def end_by_stop(self, one):
        one.stop()
        one.run()

    def end_by_an_error(self, one):
        one._train = lambda: 1 / 0
        one._follow = lambda: (True, False)
        with self.assertRaises(ZeroDivisionError):
            one.run()

    def test_requests_that_wait_where_run_ends_are_late_where_their_time_was_over(self):
        for end in (self.end_by_stop, self.end_by_an_error):
            for waited_ms, late in ((99, 0), (101, 3)):
                with self.subTest(f"{end.__name__} after {waited_ms} ms"):
                    one = self.interleaver()
                    futures = self.submit(one, 4)
                    futures.pop().cancel()
                    self.now += waited_ms * MS
                    one._drop_late = lambda: None  # at once, so that the end of run() has them
                    end(one)
                    self.assertIsInstance(futures[0].exception(0), gearshift.RequestDropped)
                    self.assertEqual(self.counts(one), [4, 0, late + bool(late), late + bool(late)])

    def test_what_nobody_waits_for_any_more_is_late_where_its_time_was_over(self):
        for waited_ms, counts in ((50, [4, 3, 0, 0]), (101, [4, 0, 4, 4])):
            with self.subTest(waited_ms):
                one = self.interleaver(train=None)
                futures = self.submit(one, 4)
                futures[1].cancel()
                self.now += waited_ms * MS
                self.steps(one, 3)
                self.assertTrue(futures[3].done())
                self.assertEqual(self.counts(one), counts)

    def test_what_came_since_the_newest_report_is_told_before_the_bye(self):
        fake = self.daemon()
        one = self.interleaver(train=None)
        fake.attach()
        self.until(lambda: one._server.attached)
        futures = self.submit(one, 4)
        self.steps(one, 1)
        self.assertTrue(futures[3].done())
        self.submit(one, 1)[0].cancel()
        self.assertEqual(self.told, [])
        one.close()
        rest = fake.expect("requests")
        self.assertEqual([rest[name] for name in ("arrived", "served", "refused", "span_ns")], [5, 4, 0, 5 * MS])
        self.assertEqual(fake.take(10_000)["type"], "bye")

    def test_where_nothing_came_since_the_newest_report_nothing_is_told_at_the_end(self):
        one = self.interleaver()
        self.steps(one, 100)
        one.close()
        self.assertEqual(self.told, [])


class Cancelled(Counted):
    """Requests that nobody waits for any more."""

    def test_keep_nobody_out(self):
        one = self.interleaver(train=None, batch_size=1, batch_sizes=[1])
        self.infer_ms = 30
        for _ in range(2):  # the first time of a size counts for nothing
            one.submit(1)
            self.steps(one, 1)
        waiting = self.submit(one, 4)
        self.assertIsInstance(waiting.pop().exception(0), gearshift.RequestRefused)
        for future in waiting:
            future.cancel()
        after = one.submit(1)
        self.assertFalse(after.done())
        self.steps(one, 1)
        self.assertEqual(after.result(0), 2)
        self.assertEqual(self.counts(one), [7, 3, 1, 1])

    def test_fill_no_batch(self):
        one = self.interleaver()
        for future in self.submit(one, 3):
            future.cancel()
        one.submit(1)
        self.assertEqual(self.steps(one, 3), ["train"] * 3)
        self.assertEqual(one.queued, 1)

    def test_are_ended_for_who_waits_for_several(self):
        one = self.interleaver()
        cancelled = one.submit(1)
        cancelled.cancel()
        one.step()
        self.assertEqual(concurrent.futures.wait([cancelled], 0).done, {cancelled})


class Paused(Counted):
    """While the daemon lets requests wait."""

    def paused(self, **options):
        one = self.interleaver(**options)
        one._follow = lambda: (True, False)
        return one

    def test_they_are_dropped_once_they_are_late(self):
        one = self.paused()
        futures = self.submit(one, 3)
        futures[1].cancel()
        self.assertEqual(self.steps(one, 10), ["train"] * 10)
        self.assertEqual(one.queued, 2)  # they have waited for 100 ms
        later = one.submit(3)
        self.steps(one, 2)
        for future in (futures[0], futures[2]):
            with self.assertRaisesRegex(gearshift.RequestDropped, "^it waited 110.0 ms of 100 ms$"):
                future.result(0)
        self.assertFalse(later.done())
        self.assertEqual(one.queued, 1)
        self.assertEqual([sum(counts[name] for counts in self.told) for name in ("arrived", "late", "refused")], [4, 2, 2])

    def test_without_a_limit_they_wait_for_as_long_as_it_takes(self):
        one = self.paused(latency_ms=0)
        futures = self.submit(one, 3)
        self.now += 3600 * 10**9
        self.steps(one, 3)
        self.assertFalse(futures[0].done())
        one._follow = lambda: (True, True)
        self.steps(one, 1)
        self.assertEqual(futures[2].result(0), 4)


class Frame:
    """As a table of pandas: as many rows as requests, and iterates over its columns."""

    def __init__(self, requests):
        self._rows = requests

    def __len__(self):
        return len(self._rows)

    def __iter__(self):
        return iter(["score"])


class Lazy(Frame):
    """As an array that is computed when it is looked at."""

    def __iter__(self):
        yield self._rows[0]
        if len(self) > 2:
            raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17 bytes.")
        yield from self._rows[1:]


class Answers(Counted):
    """That are not what their length tells."""

    def test_none_of_too_few_is_given(self):
        one = self.interleaver(infer=Frame)
        futures = self.submit(one, 4)
        with self.assertLogs("gearshift", logging.WARNING):
            one.step()
        for future in futures:
            self.assertTrue(future.done(), "nobody would ever answer it")
            self.assertIn("1 answers to 4 requests", str(future.exception()))
        self.assertEqual(self.counts(one), [4, 0, 0, 0])

    def test_that_do_not_fit_in_memory_are_computed_in_smaller_batches(self):
        one = self.interleaver(infer=Lazy, batch_sizes=[1, 2, 4])
        futures = self.submit(one, 4)
        with self.assertLogs("gearshift", logging.WARNING):
            self.steps(one, 3)
        self.assertEqual([future.result(0) for future in futures], [0, 1, 2, 3])
        self.assertEqual(self.counts(one), [4, 4, 0, 0])

    def test_none_is_counted_twice_where_they_are_interrupted(self):
        def interrupt(_):
            raise KeyboardInterrupt

        one = self.interleaver()
        futures = self.submit(one, 4)
        futures[1].add_done_callback(interrupt)
        self.now += 99 * MS  # late, as those are that are dropped
        with contextlib.suppress(KeyboardInterrupt):
            one.step()
        self.assertIsInstance(futures[3].exception(0), gearshift.RequestDropped)
        self.assertEqual(self.counts(one), [4, 4, 4, 0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
