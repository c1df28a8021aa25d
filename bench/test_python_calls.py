"""Tests of bench/python_calls.py: the page of two machines."""

import tempfile
import unittest

import output
import python_calls


class Page(unittest.TestCase):
    def test_two_machines(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, cores, put in ((python_calls.ROWS, 16, 1.75), (python_calls.BESIDE, 2, 1.25)):
                values = {
                    "put of 8 bytes": put,
                    "empty of 8000 bytes": 30,
                    python_calls.IMPORT: 200,
                    python_calls.OF_C: 0.25,
                }
                rows = [{"name": k, "median": v, "least": v} for k, v in values.items()]
                output.rows(folder, name, {"cores": cores}, rows)
            text = python_calls.draw(folder)
        self.assertIn("| put of 8 bytes beyond C's | 1.5 us | 1.5 us | yes | 1 us |", text)
        self.assertIn("| put of 8 bytes | 1.75 | 1.75 | 1.25 |", text)
        self.assertNotIn(f"| {python_calls.OF_C} |", text)


if __name__ == "__main__":
    unittest.main()
