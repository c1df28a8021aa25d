"""Tests of bench/waits.py: which runs there are, and when a bound counts as met."""

import unittest

import waits


def row(pes, way, metric, *values):
    return waits.Row.of(pes, way, metric, values)


class Waits(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual(waits.numbers(16), [2, 8, 15, 16, 32])
        self.assertEqual(waits.numbers(2), [2, 4])

    def test_commands(self):
        shmemrun, _, mpirun, oshmem = waits.WAYS
        self.assertEqual(shmemrun.command(4, 2, ["p"]), ["build/bin/shmemrun", "-n", "4", "p"])
        self.assertIsNone(mpirun.command(4, 2, ["p"]))
        self.assertIn("--oversubscribe", oshmem.command(4, 2, ["p"]))
        self.assertNotIn("--oversubscribe", oshmem.command(2, 2, ["p"]))

    def test_bounds(self):
        rows = [
            row(8, "shmemrun", "barrier_all", 1, 1, 5),
            row(8, waits.OSHMEM, "barrier_all", 4, 4, 40),
            row(8, "shmemrun", "sum", 2, 2, 2),
            row(8, waits.OSHMEM, "sum", 4, 4, 4),
            row(2, "shmemrun", "recovery", 0.1, 11),
            row(2, waits.OSHMEM, "recovery", 99, 99),
        ]
        met = [m for _, m in waits.bounds(rows, 8)]
        self.assertEqual(met, [True, False, False, True, False])

    def test_bounds_of_two(self):
        rows = [row(2, "shmemrun", "sum", 1, 1), row(16, "shmemrun", "sum", 4.1, 5)]
        self.assertEqual([m for _, m in waits.bounds(rows, 16)], [True, False])
        self.assertEqual(list(waits.bounds(rows, 8)), [])

    def test_table(self):
        text = waits.table([row(2, "shmemrun", "sum", 1, 3, 2)], "sum", "us")
        self.assertIn("| 2 | 2 (3) |", text)

    def test_faults(self):
        rows = [row(2, "shmemrun", "failed", 0, 1, 1), row(4, "shmemrun", "failed", 0)]
        self.assertEqual(
            list(waits.failures(rows)), ["shmemrun, 2 PEs: 2 of 3 runs ended in a fault"]
        )

    def test_a_run_that_fails(self):
        self.assertIsNone(waits.measure(["sh", "-c", "echo 'barrier_all\t0\t1\tus'; exit 3"]))
        whole = "echo 'barrier_all_behind\t0\t1\tus'; exit "
        self.assertIsNone(waits.measure(["sh", "-c", whole + "1"]))
        self.assertIsNotNone(waits.measure(["sh", "-c", whole + "139"]))


if __name__ == "__main__":
    unittest.main()
