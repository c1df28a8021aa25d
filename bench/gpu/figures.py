"""The figures of kernels on two GPUs: their bounds, and whether they are met."""

import csv
import dataclasses
import json
import statistics
from typing import Optional

KEYS = ("figure", "how", "bytes", "ctas", "threads")


class Rows:
    """The rows of files: rows by the programs, facts of the machines (sessions), and probe.

    probe has the rows of probe.cu, the limits of the bare machine: the value by section, variant,
    bytes, ctas, threads and metric.
    """

    def __init__(self, paths, limits):
        self.rows, self.sessions, self.probe = [], [], {}
        for path in paths:
            with open(path, encoding="utf-8") as f:
                for line in f:
                    row = json.loads(line)
                    if "facts" in row:
                        self.sessions.append(row["facts"])
                    else:
                        self.rows.append(row)
        for path in limits:
            with open(path, encoding="utf-8") as f:
                for cells in csv.reader(f, delimiter="\t"):
                    # A loop within one GPU says nothing about the path between two.
                    if len(cells) == 9 and cells[0] != "section" and "SAME_GPU" not in cells[5]:
                        key = (*cells[:2], *map(int, cells[2:5]), cells[6])
                        # Some rows are for several targets: take that of the other GPU.
                        if key not in self.probe or cells[5] == "peer":
                            self.probe[key] = float(cells[7])

    def of(self, **want):
        """The rows with these values."""
        return [r for r in self.rows if all(r[k] == v for k, v in want.items())]

    def median(self, **want) -> Optional[float]:
        found = [r["value"] for r in self.of(**want)]
        return statistics.median(found) if found else None

    def best(self, most, **want):
        """The best median of all shapes (blocks and threads), and its shape. most: high is good."""
        shapes = {(r["ctas"], r["threads"]) for r in self.of(**want)}
        values = {s: self.median(**want, ctas=s[0], threads=s[1]) for s in shapes}
        if not values:
            return None, None
        shape = (max if most else min)(values, key=values.get)
        return values[shape], shape


@dataclasses.dataclass(frozen=True)
class Figure:
    """One figure and its bounds.

    Its limit is a row of the probe times scale, or a row of another system (other). It is met if
    the value is within limit * factor, limit + plus, and bound, as far as they are given, and, with
    beat, if it is better than NVSHMEM's.
    """

    what: str
    unit: str
    row: tuple  # of libshmem: figure, how, bytes, ctas, threads
    route: str = "p2p"
    most: bool = False  # more is better
    probe: tuple = ()
    scale: float = 1.0
    other: tuple = ()  # system, route, and the columns in which its row differs from `row`
    factor: Optional[float] = None
    plus: float = 0.0
    bound: Optional[float] = None
    beat: bool = False

    def want(self):
        """The columns of libshmem's row."""
        return dict(zip(KEYS, self.row))

    def limit(self, rows: Rows) -> Optional[float]:
        if self.probe:
            found = rows.probe.get(self.probe)
            return found * self.scale if found is not None else None
        if self.other:
            system, route, differs = self.other
            return rows.median(system=system, route=route, **{**self.want(), **dict(differs)})
        return None

    def target(self):
        sign = "at least" if self.most else "at most"
        parts = []
        if self.factor is not None:
            parts.append(f"{sign} {self.factor:g} x limit")
        if self.plus:
            parts.append(f"{sign} limit + {self.plus:g} {self.unit}")
        if self.bound is not None:
            parts.append(f"{sign} {self.bound:g} {self.unit}")
        if self.beat:
            parts.append(f"{'above' if self.most else 'below'} NVSHMEM")
        return ", ".join(parts)

    def verdict(self, rows: Rows):
        """(ours, NVSHMEM's, limit, met).

        met is False if one condition is not met, else None while a value is missing.
        """
        ours = rows.median(system="libshmem", route=self.route, **self.want())
        peer = rows.median(system="nvshmem", route=self.route, **self.want())
        limit = self.limit(rows)
        bounds = []
        if self.factor is not None:
            bounds.append(limit * self.factor if limit is not None else None)
        if self.plus:
            bounds.append(limit + self.plus if limit is not None else None)
        if self.bound is not None:
            bounds.append(self.bound)
        good = [_holds(ours, b, self.most) for b in bounds]
        if self.beat:
            good.append(_holds(ours, peer, self.most))
        met = False if False in good else None if None in good else True
        return ours, peer, limit, met


def _holds(value, bound, most):
    """Reports whether a value meets a bound; None if one of them is missing."""
    if value is None or bound is None:
        return None
    return value >= bound if most else value <= bound


def size(n):
    for unit, by in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n >= by:
            return f"{n // by} {unit}"
    return f"{n} B"


def blocks(walk):
    """The figures of block puts and gets. walk: over a window, else over the same bytes."""
    out = []
    over, section = (" over a window", "window") if walk else ("", "copy")
    for name, variant in (("put", "put_ld_st_x4"), ("get", "get_ld_st_x4")):
        for n in (64 << 10, 256 << 10, 1 << 20, 32 << 20):
            out.append(
                Figure(
                    f"block {name}{over}, 32 CTAs, {size(n)}",
                    "GB/s",
                    (name + over, "block", n, 32, 1024),
                    most=True,
                    probe=(section, variant, n, 32, 1024, "bw"),
                    factor=0.9,
                    # Gets of the same bytes are not compared with NVSHMEM's, which the first-level
                    # cache answers, at up to 3200 GB/s. With a quiet after each pass it does not.
                    beat=walk or name == "put",
                )
            )
    for name in ("put", "get"):
        for n in (64 << 10, 256 << 10, 1 << 20, 32 << 20):
            out.append(
                Figure(
                    f"the same {name} with a quiet each pass, {size(n)}",
                    "GB/s",
                    (f"{name}{over}, quiet each pass", "block", n, 32, 1024),
                    most=True,
                    beat=True,
                )
            )
    return out


def figures():
    """All figures but those of blocks()."""
    out = []
    fence = ("atomic", "store_then_fence", 8, 1, 1, "latency_avg")
    out.append(
        Figure(
            "p + quiet, 8 B",
            "us",
            ("p_quiet", "thread", 8, 1, 1),
            probe=fence,
            scale=1e-3,
            factor=1.05,
        )
    )
    out.append(
        Figure("warp put + quiet, 64 KiB", "us", ("put_quiet", "warp", 65536, 1, 32), bound=10)
    )
    out.append(
        Figure("thread put + quiet, 1 KiB", "us", ("put_quiet", "thread", 1024, 1, 1), bound=4)
    )
    for scope, threads in (("warp", 32), ("block", 256), ("block", 1024)):
        out.append(
            Figure(
                f"put + signal round trip, 1 KiB, {scope} of {threads}",
                "us",
                ("put_signal_round_trip", scope, 1024, 1, threads),
                probe=("pingpong", "data_fence_flag", 1024, 1, threads, "half_rtt_avg"),
                scale=2e-3,
                factor=1.08,
                beat=True,
            )
        )
    out.append(
        Figure(
            "signal round trip",
            "us",
            ("signal_round_trip", "thread", 0, 1, 1),
            bound=2.1,
            probe=("pingpong", "relaxed", 0, 1, 1, "half_rtt_avg"),
            scale=2e-3,
        )
    )
    for scope, threads in (("thread", 1), ("warp", 32), ("block", 256)):
        out.append(Figure(f"barrier, {scope}", "us", ("barrier", scope, 0, 1, threads), bound=2.3))
        out.append(Figure(f"sync, {scope}", "us", ("sync", scope, 0, 1, threads), beat=True))
    for threads in (256, 1024):
        out.append(
            Figure(
                f"alltoall, 64 KiB, block of {threads}",
                "us",
                ("alltoall", "block", 65536, 1, threads),
                beat=True,
            )
        )
    out.append(
        Figure(
            "alltoall on stream, 4 MiB",
            "us",
            ("alltoall_on_stream", "stream", 4 << 20, 0, 0),
            other=("nvshmem_nccl", "p2p", ()),
            factor=1,
            beat=True,
        )
    )
    for n, bound in ((4, 6), (4 << 20, 33)):
        out.append(
            Figure(
                f"sum reduce on stream, {size(n)}",
                "us",
                ("sum_reduce_on_stream", "stream", n, 0, 0),
                bound=bound,
                other=("nvshmem_nccl", "p2p", ()),
            )
        )
    out.append(
        Figure(
            "host put, 64 MiB, back to back",
            "GB/s",
            ("host_put_nbi_bandwidth", "host", 64 << 20, 0, 0),
            most=True,
            bound=385,
            probe=("memcpy", "cudaMemcpyPeerAsync", 64 << 20, 0, 0, "bw"),
        )
    )
    # The put returns when the copy is complete, so its limit is a copy that is waited for (median),
    # not copies back to back.
    out.append(
        Figure(
            "host put + quiet, 64 MiB",
            "us",
            ("host_put", "host", 64 << 20, 0, 0),
            probe=("memcpy", "cudaMemcpyPeerAsync", 64 << 20, 0, 0, "median"),
            factor=1.02,
        )
    )
    for n in (8, 1024, 65536):
        scope, threads = ("thread", 1) if n <= 1024 else ("block", 256)
        out.append(
            Figure(
                f"put + signal round trip by the copy engine, {size(n)}",
                "us",
                ("put_signal_round_trip", scope, n, 1, threads),
                route="copy",
                other=("limit", "copy", (("how", "write"), ("threads", 1))),
                factor=1.25,
            )
        )
    for n in (8, 1024):
        out.append(
            Figure(
                f"put + signal round trip over tcp, {size(n)}",
                "us",
                ("put_signal_round_trip", "thread", n, 1, 1),
                route="tcp",
                other=("fi_pingpong", "tcp", (("how", "host"), ("ctas", 0), ("threads", 0))),
                plus=25,
            )
        )
    for n in (1 << 20, 16 << 20, 64 << 20):
        out.append(
            Figure(
                f"staged put over tcp, {size(n)}",
                "GB/s",
                ("host_put_nbi_bandwidth", "host", n, 0, 0),
                route="tcp",
                most=True,
                other=("libshmem", "tcp_host", ()),
                factor=0.8,
            )
        )
    return out
