"""Tests of the driver: its parsing, and when a figure counts as met."""

import unittest
from unittest import mock

import report
import systems


def row(system, value, metric="get_lat", size=8, place="node", pes=2):
    key = {"system": system, "place": place, "pes": pes, "metric": metric, "size": size}
    return {**key, "round": 1, "value": value, "unit": "us"}


def figure(best, bound, against, metric="get_lat", size=8):
    return report.Figure("x", "node", 2, metric, size, best, bound, against)


class Rows(unittest.TestCase):
    def test_only_whole_rows(self):
        text = "banner\nget_lat\t8\t0.5\tus\nget_lat\t8\nget_lat\teight\t1\tus\n"
        want = [{"metric": "get_lat", "size": 8, "value": 0.5, "unit": "us"}]
        self.assertEqual(systems.rows(text), want)

    def test_rows_of_models(self):
        text = "x_test.go:1: | model | bytes alone | a | b | c |\n"
        text += "x_test.go:2: | efa-direct | 1.5 | 2.0 | 3.0 | 4.0 |\n"
        found = list(systems.model_rows(text))
        self.assertEqual([place for place, _ in found], ["efa-direct, simulated"] * 4)
        self.assertEqual([row["value"] for _, row in found], [1.5, 2.0, 3.0, 4.0])
        self.assertEqual(found[1][1]["metric"], "many_notify")

    def test_run_ends_with_its_limit(self):
        status, out, err = systems.run(["sh", "-c", "echo begun; sleep 60"], 3)
        self.assertNotEqual(status, 0)
        self.assertEqual(out, "begun\n")
        self.assertIn("ended after 3 s", err)

    def test_output_of_limits(self):
        """A program that prints no figure, and has status 0, is a run without figures."""
        table = "bytes   #sent  #ack  total  time  MB/sec  usec/xfer  Mxfers/sec\n"
        rate = '{"end": {"sum_received": {"bits_per_second": 16e9}}}'
        with mock.patch.object(systems, "_server_and_client") as out:
            out.return_value = table + "8  20k  =20k  312k  0.1s  3.2  2.5  0.4\n"
            self.assertEqual(systems.pingpong(None, "tcp"), 2.5)
            for text in ("", table, "8 2.5\n8 2.5\n"):
                out.return_value = text
                self.assertRaises(systems.RunError, systems.pingpong, None, "tcp")
            out.return_value = rate
            self.assertEqual(systems.stream(None), 2)
            for text in ("", '{"end": {}}'):
                out.return_value = text
                self.assertRaises(systems.RunError, systems.stream, None)

    def test_foreign_settings_are_dropped(self):
        keep = systems.environment(SHMEM_PROVIDER="tcp")
        foreign = [k for k in keep if k.startswith(("OMPI_", "UCX_", "SHMEM_"))]
        self.assertEqual(foreign, ["SHMEM_PROVIDER"])


class Verdict(unittest.TestCase):
    def met(self, rows, fig):
        return report.Results(rows).verdict(fig)[-1]

    def test_low_against_peer(self):
        fig = figure("low", 1.2, "oshmem")
        self.assertIs(self.met([row("libshmem", 1.2), row("oshmem", 1.0)], fig), True)
        self.assertIs(self.met([row("libshmem", 1.3), row("oshmem", 1.0)], fig), False)

    def test_ratio_is_taken_within_rounds(self):
        # The third round is slow for both; across rounds ours would look slower.
        pairs = [(0.9, 1.0), (2.0, 2.1), (2.2, 2.3)]
        rows = []
        for number, (ours, peer) in enumerate(pairs):
            rows.append(row("libshmem", ours) | {"round": number})
            rows.append(row("oshmem", peer) | {"round": number})
        fig = figure("low", 1.0, "oshmem")
        self.assertAlmostEqual(report.Results(rows).verdict(fig)[3], 2.0 / 2.1)
        self.assertIs(self.met(rows, fig), True)
        rows.append(row("libshmem", 99.0) | {"round": 7})  # no pair: does not count
        self.assertIs(self.met(rows, fig), True)

    def test_high_against_memcpy(self):
        fig = figure("high", 0.95, "memcpy", "put_nbi_bw", 65536)
        for value, met in ((9.5, True), (9.4, False)):
            rows = [
                row("libshmem", value, "put_nbi_bw", 65536),
                row("libshmem", 10.0, "memcpy_bw", 65536),
            ]
            self.assertIs(self.met(rows, fig), met)

    def test_limit_is_the_better_of_two(self):
        fig = figure("high", 0.85, "limit", "put_nbi_bw", 65536)
        rows = [
            row("libshmem", 8.6, "put_nbi_bw", 65536),
            row("iperf3", 10.0, "put_nbi_bw", 1 << 20),  # a stream has no sizes
            row("raw", 9.0, "put_nbi_bw", 65536),
        ]
        self.assertIs(self.met(rows, fig), True)
        self.assertIs(self.met([*rows[:2], row("raw", 11.0, "put_nbi_bw", 65536)], fig), False)
        self.assertIsNone(self.met(rows[:1], fig))

    def test_number(self):
        fig = figure("low", 60, "ms", "init", 0)
        self.assertIs(self.met([row("libshmem", 61, "init", 0)], fig), False)
        self.assertIs(self.met([row("libshmem", 59, "init", 0)], fig), True)

    def test_missing_is_not_met(self):
        fig = figure("low", 1.0, "oshmem")
        self.assertIsNone(self.met([row("libshmem", 0.1)], fig))
        self.assertIsNone(self.met([row("oshmem", 0.1)], fig))

    def test_page_has_a_line_for_each_figure(self):
        facts = {"date": "2025-01-01", "cpu": "x", "cores": 16, "made": "1 round"}
        results = report.Results([row("libshmem", 1.0)])
        page = report.page(results, facts)
        self.assertEqual(page.count("| not measured |"), len(report.FIGURES))
        both = report.page(results, facts, (results, {**facts, "cores": 2}))
        self.assertIn("from 2 processors (x, 2025-01-01, 1 round)", both)
        self.assertEqual(both.count("| not measured |"), len(report.FIGURES))

    def test_page_says_why(self):
        """A figure that is not met stands with its reason, one that is met without."""
        facts = {"date": "2025-01-01", "cpu": "x", "cores": 16, "made": "1 round"}
        slow = {"place": "node", "pes": 2, "round": 1, "metric": "broadcast", "size": 1 << 20}
        for value, there in ((90.0, True), (70.0, False)):
            rows = [
                {**slow, "system": "libshmem", "value": value, "unit": "us"},
                {**slow, "system": "oshmem", "value": 90.0, "unit": "us"},
            ]
            page = report.page(report.Results(rows), facts)
            self.assertEqual("What is not met" in page, there)


if __name__ == "__main__":
    unittest.main()
