"""The results of bench/python_gpu.py for invented figures."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import python_gpu  # noqa: E402


class Page(unittest.TestCase):
    def test_ratios_are_of_the_rounds(self):
        put, stream, exchange, operator = (f[0] for f in python_gpu.FIGURES)
        rounds = [
            {put: (101.0, 100.0), stream: (103.0, 100.0), exchange: (20.0, 10.0)},
            {put: (202.0, 200.0), stream: (50.0, 100.0), exchange: (10.0, 10.0)},
            {put: (90.0, 50.0), stream: (206.0, 200.0), exchange: (11.0, 10.0)},
        ]
        for each in rounds:
            each[operator] = (12.0, 10.0)
        lines = python_gpu.page(rounds, {"GPU": "made up"}).splitlines()
        (one,) = [x for x in lines if x.startswith(f"| {put} |")]
        self.assertIn("| 101 | C 100 | 1.010 | 1.010 to 1.800 | at most 1.02 x C | yes |", one)
        (two,) = [x for x in lines if x.startswith(f"| {stream} |")]
        self.assertTrue(two.endswith("| 1.030 | 0.500 to 1.030 | at most 1.02 x C | no |"), two)
        (three,) = [x for x in lines if x.startswith(f"| {exchange} |")]
        self.assertIn("| NCCL 10 | 1.100 |", three)
        (four,) = [x for x in lines if x.startswith(f"| {operator} |")]
        self.assertTrue(four.endswith("| 1.200 | 1.200 to 1.200 | at most 1.1 x NCCL | no |"), four)
        self.assertIn("- GPU: made up", lines)

    def test_rows_of_another_size_do_not_count(self):
        found = [{"figure": "a", "bytes": 8, "value": 1.0}, {"figure": "a", "bytes": 9, "value": 2}]
        self.assertEqual(python_gpu.values([*found, {"about": {}}], 8), {"a": 1.0})


if __name__ == "__main__":
    unittest.main()
