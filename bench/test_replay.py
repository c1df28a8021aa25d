"""Tests of bench/replay.py: its parsing, and when a prediction counts as met."""

import unittest

import replay


class Replay(unittest.TestCase):
    def test_seconds(self):
        line = "gups: 200000 updates on 2 PEs, as serial ones: 0.042 s, 0.004775 GUPS"
        self.assertEqual(replay.seconds(line), 0.042)
        with self.assertRaises(SystemExit):
            replay.seconds("gups: no time")

    def test_met(self):
        self.assertTrue(replay.met([1.0, 1.2, 9.0], [1.0, 1.0, 1.0]))
        self.assertTrue(replay.met([0.71], [1.0]))
        self.assertFalse(replay.met([1.31], [1.0]))
        self.assertFalse(replay.met([0.69], [1.0]))


if __name__ == "__main__":
    unittest.main()
