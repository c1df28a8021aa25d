"""Tests of bench/stalls.py: when a job has stalled."""

import unittest

import stalls


def row(longest, beat):
    found = [
        {"metric": "longest_sum", "value": longest},
        {"metric": "longest_sync_all", "value": 1},
        {"metric": "beat", "value": beat},
        {"metric": "calls", "value": 20},
    ]
    return stalls.Row.of(2, 7, found)


class Stalls(unittest.TestCase):
    def test_a_stall(self):
        self.assertTrue(row(501, 6).stalled())
        self.assertEqual(row(501, 6).call, "sum")

    def test_a_machine_that_slept(self):
        self.assertFalse(row(501, 260).stalled())

    def test_the_page_counts_them(self):
        text = stalls.page([row(2, 6), row(3, 6), row(700, 6)], {"cores": 2})
        self.assertIn("| 2 | 3 | 60 | 3 | 700 (sum) | 6 | 1 |", text)


if __name__ == "__main__":
    unittest.main()
