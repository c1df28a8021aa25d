"""Tests of bench/start.py: its parsing, and when a figure counts as met."""

import tempfile
import unittest

import output
import start


class Figures(unittest.TestCase):
    def test_benchmarks_of_go(self):
        text = (
            "goos: linux\nBenchmarkReadSys-2   \t  66\t  20000000 ns/op\n"
            "BenchmarkReadSys-2   \t  66\t  24000000 ns/op\nPASS\n"
            "BenchmarkRead-2 \t 100\t 9000000 ns/op\t 12 B/op\n"
        )
        hwloc, sys = start.reads(text)
        self.assertEqual((sys.median, sys.least), (22, 20))
        self.assertEqual((hwloc.median, hwloc.least), (9, 9))
        self.assertTrue(sys.line().endswith("| 22.0 | 20.0 | 20 | no |  |"))
        self.assertTrue(hwloc.line().endswith("| 9.0 | 9.0 | 20 | yes |  |"))

    def test_a_benchmark_is_missing(self):
        with self.assertRaises(SystemExit):
            list(start.reads("BenchmarkRead-2 \t 100\t 9000000 ns/op\n"))

    def test_nothing_is_wanted(self):
        self.assertEqual(start.Row("x", 1, 0.5).line(), "| x | 1.0 | 0.5 |  |  |  |")

    def test_another_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, cores, median in (("start.jsonl", 16, 1.5), (start.BESIDE, 2, 7.25)):
                rows = [vars(start.Row("a job", median, 1, 50)), vars(start.Row(str(cores), 3, 3))]
                output.rows(folder, name, {"cores": cores}, rows)
            text = start.draw(folder)
        self.assertIn("| what | median | least | at most | met | 2 processors |", text)
        self.assertIn("| a job | 1.5 | 1.0 | 50 | yes | 7.2 |", text)
        self.assertIn("| 16 | 3.0 | 3.0 |  |  |  |", text)

    def test_a_job_that_fails(self):
        with self.assertRaises(SystemExit):
            start.seconds(["sh", "-c", "exit 3"])


if __name__ == "__main__":
    unittest.main()
