"""The referee of `make demo-interleave`: the best of two profiles, by hand."""

import math
import sys
import unittest

from harness import SOURCE

sys.path.insert(0, str(SOURCE / "cli/demo"))
from interleaving_optimum import highest_window_w, mean_cells, optimum, rate_of, share_of

SLOW, FAST = (("gpu_mhz", 300.0),), (("gpu_mhz", 600.0),)
TRAIN = {SLOW: {16: (0.100, 10.0)}, FAST: {16: (0.050, 20.0)}}
INFER = {SLOW: {1: (0.010, 8.0), 8: (0.040, 9.0)}, FAST: {1: (0.006, 12.0), 8: (0.024, 14.0)}}


class InterleavingOptimum(unittest.TestCase):
    def best(self, rate=20.0, latency_s=1.0, cap_w=20.0, window_s=math.inf, half_full=False):
        return optimum(TRAIN, INFER, 16, rate, latency_s, cap_w, window_s, half_full)

    def test_takes_the_fastest_within_the_cap_by_the_mean_of_both(self):
        a_second, mode, batch, power_w = self.best()
        self.assertEqual((mode, batch), (FAST, 8))
        self.assertAlmostEqual(a_second, (1 - 20 * 0.024 / 8) / 0.050)
        self.assertAlmostEqual(power_w, 0.06 * 14 + 0.94 * 20)
        self.assertEqual(self.best(cap_w=power_w)[1], FAST, "at the cap")
        self.assertEqual(self.best(cap_w=power_w - 1e-6)[1:3], (FAST, 1), "past it: the lesser batch draws less")

    def test_takes_no_setting_that_a_window_shows_over_the_cap(self):
        # Of 0.43 s with a batch of 8 every 0.4 s: one batch and 0.406 s of training at least.
        highest_w = (0.024 * 14 + 0.406 * 20) / 0.43
        self.assertAlmostEqual(highest_window_w(0.43, 0.4, 0.024, 14.0, 20.0), highest_w)
        self.assertEqual(self.best(cap_w=highest_w + 1e-6, window_s=0.43)[1:3], (FAST, 8), "at the cap")
        past = self.best(cap_w=highest_w - 1e-6, window_s=0.43)
        self.assertEqual(past[1:3], (FAST, 1), "past it: the lesser batch is in every window")
        self.assertLess(self.best(cap_w=highest_w - 1e-6)[3], highest_w, "though the mean fits")
        # A window shorter than what is between two batches sees training alone.
        self.assertEqual(highest_window_w(0.3, 0.4, 0.024, 14.0, 20.0), 20.0)
        self.assertEqual(self.best(cap_w=19.9, window_s=0)[1], SLOW)

    def test_keeps_the_latency_and_tells_where_nothing_does(self):
        self.assertEqual(self.best(latency_s=8 / 20 + 0.024)[2], 8)
        self.assertEqual(self.best(latency_s=8 / 20 + 0.023)[2], 1)
        self.assertIsNone(self.best(latency_s=0.01))
        self.assertIsNone(self.best(cap_w=9.0))
        self.assertIsNone(self.best(rate=400.0))

    def test_batches_may_be_half_full_where_that_is_asked_for(self):
        # Batches of 8 take 0.4 s to come, and 0.024 s: not within 0.4 s. Of the 0.36 that are planned with, 0.024
        # and half of a training minibatch of 0.05 are left to the requests that come: 6.22 of 20 a second.
        self.assertEqual(self.best(latency_s=0.4)[2], 1)
        a_second, mode, batch, _ = self.best(latency_s=0.4, half_full=True)
        self.assertEqual((mode, batch), (FAST, 8))
        infer_s = 0.006 + 5.22 / 7 * (0.024 - 0.006)
        self.assertAlmostEqual(a_second, (1 - 20 * infer_s / 6.22) / 0.050)
        self.assertEqual(self.best(half_full=True), self.best(), "full in time")
        # Half of a batch, 0.2 s: with 0.024 s and half of 0.05 s within nine tenths of 0.2767 s.
        self.assertEqual(self.best(latency_s=0.2768, half_full=True)[2], 8)
        self.assertEqual(self.best(latency_s=0.2766, half_full=True)[2], 1)

    def test_the_mean_of_two_passes_is_of_each_cell_that_both_have(self):
        other = {FAST: {16: (0.070, 22.0), 32: (0.1, 25.0)}}
        mean = mean_cells([TRAIN, other])
        self.assertEqual({mode: list(cells) for mode, cells in mean.items()}, {FAST: [16]})
        self.assertAlmostEqual(mean[FAST][16][0], 0.060)
        self.assertAlmostEqual(mean[FAST][16][1], 21.0)
        self.assertAlmostEqual(rate_of(0.060, 0.024, 8, 20.0), 0.94 / 0.060)


class ShareOfTheOptima(unittest.TestCase):
    PHASES = [("long", 0, 30, 20, 25), ("short", 30, 40, 60, 25), ("dark", 40, 50, 60, 5)]

    def test_weighs_phases_by_what_their_optima_would_have_trained(self):
        trained = {0: 0, 30: 240, 40: 290, 50: 291}
        share = share_of(self.PHASES, [(10.0,), (6.0,), None], trained.get)
        self.assertAlmostEqual(share, 290 / 360, msg="the phase without an optimum does not count")

    def test_is_none_of_nothing(self):
        self.assertEqual(share_of(self.PHASES, [None, None, None], lambda second: second), 0.0)


if __name__ == "__main__":
    unittest.main()
