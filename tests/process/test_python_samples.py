#!/usr/bin/env python3
"""How many samples the Python client takes a batch for, and that it says where that cannot be right."""

import collections
import logging
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import ClientTest  # skips where a package is missing

try:
    from gearshift.samples import samples_in
except ImportError:
    from gearshift.client import samples_in


class Array:
    def __init__(self, *shape):
        self.shape = shape


def samples(number):
    """Of detection: each has an image and its own number of boxes."""
    return [(Array(3, 64, 64), {"boxes": Array(1 + i % 4, 4)}) for i in range(number)]


class Counting(unittest.TestCase):
    def test_of_batches_as_loaders_make_them(self):
        for batch in (
            Array(7, 3),
            [Array(7, 3)],
            (Array(7, 3, 64, 64), Array(7)),
            [[Array(7, 3), Array(7, 3)], Array(7)],
            {"image": Array(7, 3), "path": ["a"] * 7, "epoch": 3},
            collections.UserDict(input_ids=Array(7, 128), attention_mask=Array(7, 128)),
            (Array(7, 3), ("a",) * 7),
            (("a",) * 7, [1] * 7),
            tuple(zip(*samples(7))),
            samples(7),
            [{"image": Array(3, 64, 64)}] * 7,
            [(Array(3, 64, 64), 5)] * 7,
            [Array(5, 3), Array(9, 3), Array(7, 3), Array(2, 3), Array(1, 3), Array(3, 3), Array(2, 3)],
            (Array(7, 3, 64, 64), Array(57, 6)),  # images, and all of their boxes
        ):
            with self.subTest(batch):
                self.assertEqual(samples_in(batch), 7)

    def test_of_what_may_be_read_in_two_ways_is_the_expected(self):
        for batch, expected, size in (
            ([Array(3, 64, 64)] * 4, (4, 8), 4),
            ([Array(3, 64, 64)] * 4, (3, 8), 3),
            ([Array(16, 10)] * 2, (16,), 16),
            ([Array(16, 10)], (1, 16), 16),
            (["a"] * 4, (4,), 4),
            (["a"] * 4, (8,), None),
        ):
            with self.subTest(batch=batch, expected=expected):
                self.assertEqual(samples_in(batch, expected), size)

    def test_of_what_does_not_tell_is_none(self):
        for batch in (None, "text", 3, Array(), [], {}, (0, 0, 0), [object()] * 3):
            with self.subTest(batch):
                self.assertIsNone(samples_in(batch))

    def test_of_huge_and_of_deep_batches_takes_no_time(self):
        class Seen(list):
            def __getitem__(self, key):
                assert not isinstance(key, slice) or key.stop <= 8, "all is looked at"
                return super().__getitem__(key)

        self.assertEqual(samples_in(Seen(samples(5000))), 5000)
        deep = []
        deep.append(deep)
        self.assertIsNotNone(samples_in(deep))


class Reporting(ClientTest):
    def report(self, batch, **options):
        daemon, client = self.attached(batch_size=8, batch_sizes=None)
        list(client.batches([batch], **options))
        return daemon.expect("minibatch")["batch_size"]

    def test_samples_are_counted(self):
        self.assertEqual(self.report(tuple(zip(*samples(8)))), 8)

    def test_the_program_may_count_them(self):
        self.assertEqual(self.report([object()] * 5, samples=len), 5)

    def test_a_count_that_fails_is_told_once(self):
        with self.assertLogs("gearshift", logging.WARNING) as logs:
            self.assertEqual(self.report((Array(8, 3), Array(8)), samples=lambda batch: batch.size), 8)
        self.assertEqual(len(logs.output), 1)
        self.assertIn("samples failed", logs.output[0])

    def test_sizes_that_count_for_nothing_are_told_once(self):
        daemon, client = self.attached(batch_size=8, batch_sizes=[8, 16])
        whole, rest = Array(8, 3), Array(3, 3)
        with self.assertNoLogs("gearshift", logging.WARNING):
            list(client.batches(([whole] * 5 + [rest]) * 20))
        with self.assertLogs("gearshift", logging.WARNING) as logs:
            list(client.batches([rest] * 50))
            list(client.batches([whole] + [rest] * 50))
        self.assertEqual(len(logs.output), 1)
        self.assertIn("batches of 3 samples, offered 8, 16: nothing is measured", logs.output[0])
        self.assertIn("samples=", logs.output[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
