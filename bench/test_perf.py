"""Tests of bench/perf.py: what is measured in which start, and the rows of its lines."""

import unittest

import perf
import systems


class Starts(unittest.TestCase):
    def test_sizes_of_metrics(self):
        rows = [("get_lat", 8), ("put_nbi_bw", 4096), ("get_nbi_bw", 4096), ("barrier_all", 0)]
        rows += [("put_nbi_bw", 65536), ("get_nbi_bw", 65536), ("memcpy_bw", 8)]
        want = [
            ((("get", "latency"), ("barrier", "latency")), (8,)),
            ((("put", "bandwidth"), ("get", "bandwidth")), (4096, 65536)),
        ]
        self.assertEqual(perf.starts(rows), want)
        self.assertEqual(
            perf.arguments(*want[0], 5),
            ("tests=get:latency,barrier:latency", "sizes=8", "budget=5"),
        )


class Rows(unittest.TestCase):
    def test_lines_of_the_program(self):
        text = "head\tlibrary=x\tpes=2\n"
        text += "figure\ttest=get\tmeasure=latency\tscope=host\tsize=8\tunit=us\tbatches=3,1,9\n"
        text += "figure\ttest=swap\tmeasure=latency\tscope=host\tsize=8\tunit=us\tbatches=1\n"
        text += "end\tfigures=2\twrong=1\n"
        want = [
            {"metric": "get_lat", "size": 8, "value": 3, "unit": "us"},
            {"metric": "errors", "size": 0, "value": 1, "unit": "count"},
        ]
        self.assertEqual(systems.rows(text), want)

    def test_names(self):
        line = "figure\ttest=sum\tmeasure=latency\tsize=64\tunit=us\tbatches=2"
        self.assertEqual(perf.row(line)["metric"], "sum_reduce")
        self.assertEqual(perf.row(line, ["sum"])["metric"], "sum")
        self.assertIsNone(perf.row(line, ["broadcast"]))


if __name__ == "__main__":
    unittest.main()
