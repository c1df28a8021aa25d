"""Tests of bench/preload.py: what a row subtracts, and when it is met."""

import unittest

import preload


class Figures(unittest.TestCase):
    def test_rows(self):
        least = {"without": {"p_ns": 10.0}, "counted": {"p_ns": 25.0}, "timed": {"p_ns": 80.0}}
        found = list(preload.rows(least, [0.5, 0.9]))
        self.assertEqual([round(row[3], 3) for row in found], [15, 70, 0.4])
        lines = preload.page(found, {}, 1).splitlines()
        self.assertEqual([line.split(" | ")[-1] for line in lines[-3:]], ["yes |", "no |", "no |"])


if __name__ == "__main__":
    unittest.main()
