"""Tests of bench/agree.py: which metrics are compared, and when two programs agree."""

import unittest

import agree
import perf


def means(pairs, best=min):
    return agree.verdict(pairs, best)[-1]


class Verdict(unittest.TestCase):
    def test_interval_of_ranks(self):
        self.assertEqual(agree.interval(list(range(1, 11))), (2, 9))  # 97.9 %
        self.assertEqual(agree.interval([3, 1, 2]), (1, 3))  # too few: all of them

    def test_ratio_is_taken_within_rounds(self):
        # The machine is slower in every second round.
        pairs = [(1.0, 1.01), (2.0, 2.02)] * 5
        middle, low, high, _, what = agree.verdict(pairs, min)
        self.assertAlmostEqual(middle, 0.01)
        self.assertAlmostEqual(high - low, 0)
        self.assertEqual(what, "agrees")

    def test_more_than_the_bound(self):
        self.assertEqual(means([(1.0, 1.04)] * 10), "differs")
        self.assertEqual(means([(1.0, 0.96)] * 10), "differs")
        self.assertEqual(means([(1.0, 1.02)] * 10), "agrees")

    def test_noise_shows_nothing(self):
        pairs = [(1.0, 1.3), (1.0, 0.9)] * 5 + [(1.0, 1.3)]
        self.assertEqual(means(pairs), "unclear")

    def test_one_of_two_values_by_chance(self):
        # Each start of a driver has one of two values, most often the worse one.
        pairs = [(1.9, 1.2)] * 9 + [(1.2, 1.2)]
        self.assertEqual(means(pairs), "agrees at best")
        self.assertEqual(means([(590, 800)] * 9 + [(810, 800)], max), "agrees at best")


class Drivers(unittest.TestCase):
    def test_every_metric_is_of_a_driver(self):
        text = ""
        for driver in agree.DRIVERS:
            with open(f"{agree.FOLDER}/{driver}.c", encoding="utf-8") as f:
                text += f.read()
        for metric in perf.FIGURES:
            self.assertIn(f'"{metric}"', text)


if __name__ == "__main__":
    unittest.main()
