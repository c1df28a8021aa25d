"""Tests of bench/waits_hosts.py: how the two hosts are started, and what the page shows."""

import unittest

import waits
import waits_hosts


class Hosts(unittest.TestCase):
    def test_command(self):
        self.assertEqual(
            waits_hosts.command(8, True, ["p"]),
            ["build/bin/shmemrun", "-n", "16", "--hosts", "2", "--host-netns", "p"],
        )
        self.assertNotIn("--host-netns", waits_hosts.command(8, False, ["p"]))

    def test_page(self):
        rows = [
            waits.Row.of(4, "two hosts", "barrier_all", [1, 3, 2]),
            waits.Row.of(4, "two hosts", "wait_sleeps_late", [0, 7, 0]),
            waits.Row.of(4, "two hosts", waits.FAILED, [0, 1, 0]),
        ]
        text = waits_hosts.page(rows, {"cores": 8}, True)
        self.assertIn("| 4 | 2 (3) |", text)
        self.assertIn("| 4 | 0 (7) |", text)
        self.assertIn("- two hosts, 4 PEs: 1 of 3 runs ended in a fault.", text)


if __name__ == "__main__":
    unittest.main()
