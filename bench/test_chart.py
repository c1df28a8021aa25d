"""The chart of the README is that of the pages."""

import unittest

from chart import CHART, chart, compared

PAGE = """
| figure | place | unit | libshmem | OSHMEM | limit |
|---|---|---|---|---|---|
| barrier_all | node | us | 2 |  | 1 |
| barrier_all | node | us | 2 | 4 | 1 |
| 1 MiB put | tcp | GB/s | 2 | 4 | 8 |
"""


class TestChart(unittest.TestCase):
    def test_committed(self):
        self.assertEqual(CHART.read_text(), chart(), "run: python3 bench/chart.py")

    def test_time(self):
        row = compared(PAGE, "OSHMEM", "barrier_all", "node", "a barrier")
        self.assertEqual((row.ours, row.limit), (0.5, 0.25))

    def test_rate(self):
        row = compared(PAGE, "OSHMEM", "1 MiB put", "tcp", "a put")
        self.assertEqual((row.ours, row.limit), (2, 0.5))

    def test_no_row(self):
        with self.assertRaises(SystemExit):
            compared(PAGE, "OSHMEM", "barrier_all", "tcp", "a barrier")
