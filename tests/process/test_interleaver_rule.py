#!/usr/bin/env python3
"""By what rule, that of the C++ side, and by what times a Python process trains and serves by turns."""

import os
import pathlib
import random
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import ROOT  # skips where a package is missing

from gearshift import interleaving
from gearshift.interleaving import NEVER, State

MS = 10**6


class Rule(unittest.TestCase):
    """The rule is there twice, since a client imports no C++; both must decide alike."""

    def test_is_that_of_the_header(self):
        binary = os.environ.get("INTERLEAVING_TURNS", ROOT / "build" / "interleaving_turns")
        choose = random.Random(4)

        def duration(most):
            # At and around the sums that the rule compares, and anywhere.
            exact = choose.choice((0, 1, 10 * MS, 45 * MS, 90 * MS, 100 * MS, 1000 * MS))
            return max(0, choose.choice((exact, exact - 1, exact + 1, choose.randrange(most))))

        cases = []
        for _ in range(5000):
            state = State(
                queued=choose.choice((0, 0, 1, 2, 3, 7, 40)),
                oldest_wait=duration(200 * MS),
                since_arrival=choose.choice((NEVER, duration(3000 * MS))),
                batch_size=choose.choice((0, 1, 2, 4, 8)),
                latency=choose.choice((0, 1, 9, 100 * MS, 99999999, duration(2000 * MS))),
                train_minibatch=duration(150 * MS),
                infer_minibatch=duration(60 * MS),
                trains=choose.random() < 0.8,
                infers=choose.random() < 0.8,
                oversleeps=duration(20 * MS),
                size_is_chosen=choose.random() < 0.5,
            )
            cases.append((state, duration(100 * MS), duration(200 * MS)))
        lines = "".join(
            " ".join(str(int(value)) for value in (*state, under_way, waited)) + "\n"
            for state, under_way, waited in cases
        )
        answered = subprocess.run([binary], input=lines, capture_output=True, text=True, check=True)
        answers = answered.stdout.splitlines()
        self.assertEqual(len(answers), len(cases))
        turns = set()
        for (state, under_way, waited), answer in zip(cases, answers):
            turn, longest_wait = interleaving.next_turn(state)
            ours = [
                turn,
                longest_wait,
                int(interleaving.training_fits(state)),
                int(interleaving.admits(state, under_way)),
                int(interleaving.serves(state, waited)),
            ]
            self.assertEqual(" ".join(map(str, ours)), answer, state)
            turns.add((turn, longest_wait == 0, longest_wait == NEVER))
        self.assertEqual(len(turns), 4)  # all there are: train, infer, wait for long, wait for ever


class Times(unittest.TestCase):
    def test_the_first_minibatch_and_lone_outliers_are_not_planned_for(self):
        times = interleaving.ServiceTimes()
        times.add(3000)
        self.assertEqual(times.estimate_ns, 0)
        for elapsed in (10, 11, 12, 10, 11):
            times.add(elapsed)
        self.assertEqual(times.estimate_ns, 12)
        times.add(500)
        self.assertEqual(times.estimate_ns, 22)
        times.forget_largest()
        self.assertEqual(times.estimate_ns, 12)
        for _ in range(64):
            times.add(30)
        self.assertEqual(times.estimate_ns, 30)
        for _ in range(64):
            times.add(20)
        self.assertEqual(times.estimate_ns, 20)
        times.restart()
        self.assertEqual(times.estimate_ns, 0)
        times.add(7)
        self.assertEqual(times.estimate_ns, 7)

    def test_ctrl_c_in_any_line_leaves_them_whole(self):
        for line in range(1, 100):
            times = interleaving.ServiceTimes(warm=True)
            for _ in range(64):
                times.add(10)
            left = iter(range(line))

            def interrupt(frame, event, argument):
                if event == "line" and frame.f_code.co_filename == interleaving.__file__ and next(left, None) is None:
                    raise KeyboardInterrupt
                return interrupt

            traced = sys.gettrace()
            sys.settrace(interrupt)
            try:
                times.add(20)
                break  # every line was interrupted
            except KeyboardInterrupt:
                pass
            finally:
                sys.settrace(traced)
            for elapsed in range(30, 94):
                times.add(elapsed)
            self.assertEqual(times.estimate_ns, 93, line)
        self.assertGreater(line, 3)

    def test_a_batch_size_that_was_not_seen_is_as_fast_as_its_neighbours(self):
        times = interleaving.BatchTimes([1, 4, 16])
        self.assertEqual(times.estimate_ns(4), 0)
        for _ in range(2):
            times.add(3, 40)  # three of four
        self.assertEqual([times.estimate_ns(size) for size in (1, 4, 16)], [40, 40, 40])
        for _ in range(2):
            times.add(1, 15)
            times.add(16, 30)
        self.assertEqual([times.estimate_ns(size) for size in (1, 4, 16)], [15, 40, 40])
        # Other numbers are of the size that holds them.
        self.assertEqual([times.estimate_ns(samples) for samples in (2, 5, 17)], [40, 40, 40])

    def test_the_first_minibatch_of_each_number_of_samples_is_not_planned_for(self):
        times = interleaving.BatchTimes([1, 4, 16])
        for samples in (4, 9, 12, 16):
            times.add(samples, 3000)
        self.assertEqual(times.estimate_ns(16), 0)
        times.add(4, 10)
        times.add(9, 20)
        self.assertEqual([times.estimate_ns(size) for size in (1, 4, 16)], [10, 10, 20])

    def test_patience_is_over_after_a_second_then_two_and_a_minute_at_most(self):
        patience, now = interleaving.Patience(), 0
        self.assertFalse(patience.waits)
        for seconds in (1, 2, 4, 8, 16, 32, 64, 64):
            self.assertFalse(patience.over(now))
            self.assertTrue(patience.waits)
            self.assertFalse(patience.over(now + seconds * interleaving.SECOND_NS - 1))
            now += seconds * interleaving.SECOND_NS
            self.assertTrue(patience.over(now), seconds)
        patience.end()
        patience.restart()
        self.assertFalse(patience.over(now))
        self.assertTrue(patience.over(now + interleaving.SECOND_NS))

    def test_what_is_planned_with_can_be_forgotten(self):
        times = interleaving.BatchTimes([1, 4, 16])
        for _ in range(2):
            times.add(4, 30)
            times.add(16, 25)
        times.add(4, 20)
        self.assertEqual(times.estimate_ns(16), 30)
        times.forget_largest(16)  # the 30 of 4, which is at least what 16 take
        self.assertEqual([times.estimate_ns(size) for size in (4, 16)], [20, 25])
        times.add(1, 15)
        times.add(1, 15)
        times.forget_longer(20)
        self.assertEqual([times.estimate_ns(size) for size in (1, 4, 16)], [15, 20, 20])
        times.forget_longer(14)
        self.assertEqual(times.estimate_ns(16), 0)

    def test_fewer_samples_may_be_in_time(self):
        times = interleaving.BatchTimes([1, 4, 16])
        for samples, elapsed in ((1, 10), (4, 20), (16, 70)):
            for _ in range(2):
                times.add(samples, elapsed)
        self.assertEqual([times.most_within(9, longest) for longest in (70, 69, 20, 19, 10)], [9, 4, 4, 1, 1])
        self.assertEqual([times.most_within(9, 9), times.most_within(4, 19), times.most_within(3, 20)], [9, 1, 3])

    def test_the_whole_latency_is_planned_with_where_only_some_of_those_that_come_are_in_time(self):
        times = interleaving.BatchTimes([1, 4, 16])
        for samples, elapsed in ((1, 10), (16, 70)):
            for _ in range(2):
                times.add(samples, elapsed)
        self.assertEqual([times.planned_ns(16, latency) for latency in (100, 60, 10, 9, 0)], [70, 60, 10, 70, 70])

    def test_arrivals_tell_how_many_may_come(self):
        arrivals = interleaving.Arrivals()
        self.assertEqual(arrivals.most_within(10, 100, 64), 1)
        arrivals.add(100)
        self.assertEqual(arrivals.most_within(100, 100, 64), 64)  # one just now is any rate
        self.assertEqual([arrivals.most_within(10, at, 64) for at in (110, 1100, 100000)], [4, 1, 1])
        for at in range(1000, 1320, 10):
            arrivals.add(at)  # one in ten, of which 16 are remembered: since 1160
        self.assertEqual([arrivals.most_within(span, 1320, 64) for span in (0, 10, 90, 9000)], [1, 4, 18, 64])


if __name__ == "__main__":
    unittest.main(verbosity=2)
