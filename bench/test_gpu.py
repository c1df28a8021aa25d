"""What bench/gpu/figures.py and page.py say about rows that are made up."""

import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "gpu"))
import figures  # noqa: E402


def row(system, figure, how, size, ctas, threads, value, route="p2p", unit="us"):
    return dict(
        system=system,
        route=route,
        figure=figure,
        how=how,
        bytes=size,
        ctas=ctas,
        threads=threads,
        value=value,
        unit=unit,
    )


class Verdicts(unittest.TestCase):
    def rows(self, *rows, probe=()):
        with tempfile.TemporaryDirectory() as d:
            jsonl, tsv = os.path.join(d, "gpu.jsonl"), os.path.join(d, "gpu-limits.tsv")
            with open(jsonl, "w", encoding="utf-8") as f:
                f.writelines(json.dumps(r) + "\n" for r in rows)
            with open(tsv, "w", encoding="utf-8") as f:
                f.writelines("\t".join(map(str, p)) + "\n" for p in probe)
            return figures.Rows([jsonl], [tsv])

    def figure(self, what):
        (found,) = [f for f in figures.figures() if f.what == what]
        return found

    def met(self, what, *rows, probe=()):
        return self.figure(what).verdict(self.rows(*rows, probe=probe))[3]

    def test_bandwidth_needs_the_limit_and_the_peer(self):
        what = "block put, 32 CTAs, 64 KiB"
        limit = [("copy", "put_ld_st_x4", 65536, 32, 1024, "peer", "bw", 100, "GB/s")]

        def put(system, value):
            return row(system, "put", "block", 65536, 32, 1024, value)

        self.assertIs(self.met(what, put("libshmem", 90), put("nvshmem", 80), probe=limit), True)
        self.assertIs(self.met(what, put("libshmem", 89), put("nvshmem", 80), probe=limit), False)
        self.assertIs(self.met(what, put("libshmem", 95), put("nvshmem", 96), probe=limit), False)
        self.assertIsNone(self.met(what, put("libshmem", 95), probe=limit))
        self.assertIsNone(self.met(what, put("libshmem", 95), put("nvshmem", 80)))
        self.assertIsNone(self.met(what, put("nvshmem", 80), probe=limit))

    def test_the_probe_speaks_of_the_peer_and_in_nanoseconds(self):
        what = "p + quiet, 8 B"
        limit = [
            ("atomic", "store_then_fence", 8, 1, 1, where, "latency_avg", ns, "ns")
            for where, ns in (("local", 400), ("peer", 1000), ("pinned_host", 2000))
        ]
        for us, met in ((1.04, True), (1.06, False)):
            mine = row("libshmem", "p_quiet", "thread", 8, 1, 1, us)
            self.assertIs(self.met(what, mine, probe=limit), met)

    def test_more_than_the_limit_by_so_much(self):
        what = "put + signal round trip over tcp, 8 B"
        name = "put_signal_round_trip"
        limit = row("fi_pingpong", name, "host", 8, 0, 0, 20, "tcp")
        for us, met in ((45, True), (46, False)):
            mine = row("libshmem", name, "thread", 8, 1, 1, us, "tcp")
            self.assertIs(self.met(what, limit, mine), met)

    def test_a_limit_of_another_system_and_route(self):
        name, what = "put_signal_round_trip", "put + signal round trip by the copy engine, 64 KiB"
        limits = [
            row("limit", name, how, 65536, 1, 1, us, "copy")
            for how, us in (("copy", 30), ("write", 20))
        ]
        for us, met in ((25, True), (26, False)):
            mine = row("libshmem", name, "block", 65536, 1, 256, us, "copy")
            self.assertIs(self.met(what, *limits, mine), met)
        what = "staged put over tcp, 1 MiB"
        host = row("libshmem", "host_put_nbi_bandwidth", "host", 1 << 20, 0, 0, 2.0, "tcp_host")
        for rate, met in ((1.6, True), (1.5, False)):
            mine = row("libshmem", "host_put_nbi_bandwidth", "host", 1 << 20, 0, 0, rate, "tcp")
            self.assertIs(self.met(what, host, mine), met)

    def test_values_are_medians(self):
        rows = [row("libshmem", "barrier", "warp", 0, 1, 32, us) for us in (2.2, 9.0, 2.1)]
        self.assertIs(self.met("barrier, warp", *rows), True)

    def test_every_figure_has_a_target_and_a_name_of_its_own(self):
        names = [f.what for f in figures.figures()]
        self.assertEqual(len(names), len(set(names)))
        for f in figures.figures():
            self.assertTrue(f.target(), f.what)
            self.assertEqual(len(f.row), len(figures.KEYS))


class Page(unittest.TestCase):
    def test_the_page_and_the_plots(self):
        import page

        with tempfile.TemporaryDirectory() as d:
            rows = [{"facts": {"cpu": "a cpu", "gpus": ["one", "two"], "part": "p2p"}}]
            for n in (8, 4096):
                for i, way in enumerate(page.WAYS):
                    for system in ("libshmem", "nvshmem"):
                        rows.append(row(system, way, "block", n, 1, 256, 1.0 + i))
            rows.append(row("libshmem", "put", "block", 65536, 32, 1024, 123, unit="GB/s"))
            rows.append(row("libshmem", "put", "block", 65536, 8, 1024, 456, unit="GB/s"))
            with open(os.path.join(d, "gpu.jsonl"), "w", encoding="utf-8") as f:
                f.writelines(json.dumps(r) + "\n" for r in rows)
            argv, sys.argv = sys.argv, ["page.py", "--out", d]
            try:
                page.main()
            finally:
                sys.argv = argv
            self.assertEqual(sorted(os.listdir(d)), ["gpu-quiet-p2p.svg", "gpu.jsonl", "gpu.md"])
            with open(os.path.join(d, "gpu.md"), encoding="utf-8") as f:
                text = f.read()
        self.assertIn("| put | 64 KiB | 456 | 8x1024 |", text)
        self.assertIn("| 123 |", text)
        self.assertIn("- gpus: one; two", text)
        self.assertIn("not measured", text)


if __name__ == "__main__":
    unittest.main()
