"""The results of bench/gpu/figures.py and page.py for invented rows."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "gpu"))
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

    def all(self):
        return figures.figures() + figures.blocks(True) + figures.blocks(False)

    def figure(self, what):
        (found,) = [f for f in self.all() if f.what == what]
        return found

    def met(self, what, *rows, probe=()):
        return self.figure(what).verdict(self.rows(*rows, probe=probe))[3]

    def test_bandwidth_needs_the_limit_and_the_peer(self):
        for over, section in ((" over a window", "window"), ("", "copy")):
            what = f"block put{over}, 32 CTAs, 64 KiB"
            limit = [(section, "put_ld_st_x4", 65536, 32, 1024, "peer", "bw", 100, "GB/s")]

            def put(system, value, over=over):
                return row(system, f"put{over}", "block", 65536, 32, 1024, value)

            ours, peer = put("libshmem", 95), put("nvshmem", 80)
            self.assertIs(self.met(what, put("libshmem", 90), peer, probe=limit), True)
            self.assertIs(self.met(what, put("libshmem", 89), peer, probe=limit), False)
            self.assertIs(self.met(what, ours, put("nvshmem", 96), probe=limit), False)
            self.assertIsNone(self.met(what, ours, probe=limit))
            self.assertIsNone(self.met(what, ours, peer))
            self.assertIsNone(self.met(what, peer, probe=limit))

    def test_the_two_ways_of_blocks_share_no_row(self):
        walk, again = figures.blocks(True), figures.blocks(False)
        self.assertEqual(set(), {f.row for f in walk} & {f.row for f in again})
        self.assertEqual(set(), {f.probe for f in walk if f.probe} & {f.probe for f in again})

    def test_a_loop_within_a_gpu_is_no_limit(self):
        what = "block put, 32 CTAs, 64 KiB"
        limit = [("copy", "put_ld_st_x4", 65536, 32, 1024, "SAME_GPU", "bw", 100, "GB/s")]
        mine = [row(s, "put", "block", 65536, 32, 1024, 200) for s in ("libshmem", "nvshmem")]
        self.assertIsNone(self.met(what, *mine, probe=limit))

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
        for f in self.all():
            self.assertTrue(f.target(), f.what)
            self.assertEqual(len(f.row), len(figures.KEYS))


class Page(unittest.TestCase):
    def page(self, rows):
        """The names of the files that are made from the rows, and the page."""
        import page

        with tempfile.TemporaryDirectory() as d:
            with open(os.path.join(d, "gpu.jsonl"), "w", encoding="utf-8") as f:
                f.writelines(json.dumps(r) + "\n" for r in rows)
            argv, sys.argv = sys.argv, ["page.py", "--out", d]
            try:
                page.main()
            finally:
                sys.argv = argv
            with open(os.path.join(d, "gpu.md"), encoding="utf-8") as f:
                return sorted(os.listdir(d)), f.read()

    def test_the_page_and_the_plots(self):
        import page

        rows = [{"facts": {"cpu": "a cpu", "gpus": ["one", "two"], "part": "p2p"}}]
        for n in (8, 4096):
            for i, way in enumerate(page.WAYS):
                for system in ("libshmem", "nvshmem"):
                    rows.append(row(system, way, "block", n, 1, 256, 1.0 + i))
        rows.append(row("libshmem", "put", "block", 65536, 32, 1024, 123, unit="GB/s"))
        rows.append(row("libshmem", "put", "block", 65536, 8, 1024, 456, unit="GB/s"))
        files, text = self.page(rows)
        self.assertEqual(files, ["gpu-quiet-p2p.svg", "gpu.jsonl", "gpu.md"])
        self.assertIn("| put | 64 KiB | 456 | 8x1024 |", text)
        self.assertIn("| 123 |", text)
        self.assertIn("- gpus: one; two", text)
        self.assertIn("not measured", text)
        self.assertNotIn("One GPU", text)

    def test_each_way_of_blocks_has_its_section(self):
        old = row("libshmem", "put", "block", 65536, 32, 1024, 1096, unit="GB/s")
        new = {**old, "figure": "put over a window", "value": 345}
        window, again = "## Block puts and gets, over a window", "the same bytes again and again"
        for rows, there in (([old], (False, True)), ([new], (True, False)), ([old, new], (1, 1))):
            _, text = self.page(rows)
            _, text = text.split(window + "\n")
            first, second = text.split(again + "\n", 1)
            second = second.split("\n## ")[0]
            for part, value, measured in ((first, "345", there[0]), (second, "1096", there[1])):
                self.assertEqual("Not measured on two GPUs yet." in part, not measured)
                self.assertEqual(f"| 64 KiB | {value} | 32x1024 |" in part, bool(measured))
            self.assertNotIn("1096", first)
            self.assertNotIn("345", second)

    def test_one_gpu_is_by_itself(self):
        rows = [{"facts": {"gpus": ["one", "two"], "part": "p2p"}}]
        rows.append({"facts": {"gpus": ["single"], "sharing": "by MPS", "part": "one"}})
        for us, rate in ((9, 3), (11, 5), (10, 4)):
            for system, route, worse in (
                ("probe", "one GPU, bare", 0.1),
                ("libshmem before", "one GPU, staged", 1),
                ("libshmem", "one GPU, staged", 1.1),
            ):
                rows.append(row(system, "put_quiet", "block", 16, 1, 256, us * worse, route))
                shape = ("put over a window", "block", 1 << 20, 32, 1024)
                rows.append(row(system, *shape, rate * worse, route, "GB/s"))
        _, text = self.page(rows)
        self.assertIn(
            "| put_quiet | block | 16 B | 1x256 | us | 3 | 1 | 11 | 11 | 10 | 10 | 1.1 | no |",
            text,
        )
        self.assertIn("| 32x1024 | GB/s | 3 | 0.4 | 4.4 | 11 | 4 | 10 | 1.1 | yes |", text)
        before, rest = text.split("## One GPU that two PEs share")
        mine, after = rest.split("\n## ", 1)
        self.assertIn("- gpus: single\n- sharing: by MPS", mine)
        for other in (before, after):
            self.assertNotIn("single", other)
            self.assertNotIn("staged |", other)
            self.assertNotIn("32x1024", other)


LAUNCHER = 'while [ "${1#-}" != "$1" ]; do shift 2; done; exec "$@"'


def program(*path_and_text):
    """Writes a program of the shell: its folders, its name, its text."""
    *path, text = path_and_text
    path = os.path.join(*path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/bin/bash\n" + text + "\n")
    os.chmod(path, 0o755)


class One(unittest.TestCase):
    """The part of run.sh for one GPU, with invented programs."""

    def test_rounds(self):
        programs = {
            "bin/shmemrun": LAUNCHER,
            "probe": PROBE,
            "figures/latency": SAYS,
            "figures/bandwidth": SAYS,
            "nvidia-cuda-mps-control": "[ $# -gt 0 ] || echo 42",
        }
        with tempfile.TemporaryDirectory() as d:
            for name, text in programs.items():
                program(d, "gpu", name, text)
            earlier = os.path.join(d, "earlier")
            program(d, "earlier", "bin/shmemrun", "export BY=earlier; " + LAUNCHER)
            path = os.path.join(d, "gpu") + ":" + os.environ["PATH"]
            env = {"PATH": path, "BUILD": d, "BENCH_BEFORE": earlier}
            command = [os.path.join(HERE, "gpu", "run.sh"), "one"]
            ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
            self.assertEqual(ran.returncode, 1)
            missing = "run.sh: find lib/libshmem.so: it is not in BENCH_BEFORE="
            self.assertIn(missing, ran.stderr)
            program(d, "earlier", "lib/libshmem.so", "")
            ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            rows = figures.Rows([os.path.join(d, "gpu", "gpu.jsonl")], [])
        self.assertIn({"part": "one", "sharing": "by MPS"}, rows.sessions)
        self.assertEqual(rows.median(system="probe", figure="put over a window", threads=1024), 9)
        self.assertEqual(rows.median(system="probe", figure="get_quiet", bytes=16), 0.7)
        ways = {
            "direct": "direct",
            "staged": "ring stage",
            "copied": "ring copy",
            "hosts": "ring stage tcp",
        }
        for way, how in ways.items():
            for figure in ("latency few", "bandwidth few put get"):
                for system, launcher in (("libshmem", ""), ("libshmem before", "earlier")):
                    want = {"route": f"one GPU, {way}", "system": system, "figure": figure}
                    found = rows.of(**want)
                    self.assertEqual(len(found), 5, want)
                    self.assertEqual({r["how"] for r in found}, {how})
                    self.assertEqual({r["launcher"] for r in found}, {launcher})


# Its request, as a row.
SAYS = r"""
how=${SHMEM_DISABLE_P2P:+ring }${SHMEM_GPU_NET:-direct}${SHMEM_PROVIDER:+ $SHMEM_PROVIDER}
row='{"system":"%s","route":"%s","figure":"%s","how":"%s","launcher":"%s","value":1}\n'
printf "$row" "${BENCH_SYSTEM:-libshmem}" "$BENCH_ROUTE" "${0##*/} $*" "$how" "${BY:-}"
"""
PROBE = r"""
printf '%s\t' window put_ld_st_x4_one_gpu 1048576 32 1024 SAME_GPU bw 9; echo GB/s
printf '%s\t' putlat get_then_fence 16 1 256 SAME_GPU avg 700; echo ns
"""


if __name__ == "__main__":
    unittest.main()
