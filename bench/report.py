"""The figures and their bounds, and the page that shows which are met.

python3 bench/report.py [FOLDER] draws the page again, from the rows in FOLDER (bench/results).
"""

import os
import statistics
import sys
from dataclasses import dataclass
from typing import Optional

import output


@dataclass(frozen=True)
class Figure:
    """A value of libshmem, and its bound.

    `best` says whether "low" or "high" values are good. If `against` is one of UNITS, the value may
    be at most (low) or must be at least (high) `bound` in that unit. Otherwise this holds of the
    ratio of the value to the one that `against` names (Results.against).
    """

    what: str
    place: str
    pes: int
    metric: str
    size: int
    best: str
    bound: float
    against: str


# best, bound and against of several figures.
LAT = ("low", 1.0, "oshmem")
RATE = ("high", 1.0, "oshmem")
ON_NODE = ("low", 0.7, "oshmem")
COLLECTIVE = ("low", 0.8, "oshmem")
# The systems whose rows are limits of the machine (bench/systems.py).
LIMITS = ("fi_pingpong", "iperf3", "raw")
UNITS = ("ms", "MiB/PE", "% CPU", "Mop/s")
FIGURES = [
    Figure("8-byte put and quiet", "node", 2, "put_quiet_lat", 8, *ON_NODE),
    Figure("8-byte get", "node", 2, "get_lat", 8, *ON_NODE),
    Figure("fetch_add", "node", 2, "amo_fetch_add_lat", 8, *ON_NODE),
    Figure("8-byte p", "node", 2, "p_rate", 8, "high", 1.2, "oshmem"),
    Figure("64 KiB put", "node", 2, "put_blocking_bw", 65536, "high", 0.95, "memcpy"),
    Figure("64 KiB put_nbi", "node", 2, "put_nbi_bw", 65536, "high", 0.95, "memcpy"),
    Figure("1 MiB put", "node", 2, "put_blocking_bw", 1 << 20, "high", 0.95, "memcpy"),
    Figure("1 MiB put_nbi", "node", 2, "put_nbi_bw", 1 << 20, "high", 0.95, "memcpy"),
    Figure("barrier_all", "node", 2, "barrier_all", 0, *COLLECTIVE),
    Figure("sync_all", "node", 2, "sync_all", 0, *COLLECTIVE),
    Figure("8-byte broadcast", "node", 2, "broadcast", 8, *COLLECTIVE),
    Figure("1 MiB broadcast", "node", 2, "broadcast", 1 << 20, *COLLECTIVE),
    Figure("8-byte sum", "node", 2, "sum_reduce", 8, *COLLECTIVE),
    Figure("1 MiB sum", "node", 2, "sum_reduce", 1 << 20, *COLLECTIVE),
    Figure("barrier_all, 4 PEs", "node", 4, "barrier_all", 0, "low", 1.5, "oshmem"),
    Figure("barrier_all, 8 PEs", "node", 8, "barrier_all", 0, "low", 4, "4 PEs"),
    Figure("barrier_all", "tcp", 2, "barrier_all", 0, "low", 2, "fi_pingpong"),
    Figure("1 MiB sum", "tcp", 2, "sum_reduce", 1 << 20, "low", 2, "iperf3"),
    Figure(
        "p and wait, half round trip", "tcp", 2, "p_pingpong_half", 8, "low", 1.2, "fi_pingpong"
    ),
    Figure("p and wait, half round trip", "tcp", 2, "p_pingpong_half", 8, *LAT),
    Figure(
        "put_signal of 8 bytes, half round trip",
        "tcp",
        2,
        "put_signal_pingpong_half",
        8,
        "low",
        1.2,
        "p and wait",
    ),
    Figure("message of 8 bytes", "node", 2, "send_pingpong_half", 8, "low", 2, "notification"),
    Figure("message of 8 bytes", "tcp", 2, "send_pingpong_half", 8, "low", 1.2, "notification"),
    Figure(
        "message of 1 MiB, symmetric memory",
        "tcp",
        2,
        "send_symmetric_pingpong_half",
        1 << 20,
        "low",
        1.2,
        "notification",
    ),
    Figure("8-byte put_nbi, random words", "tcp", 2, "put_nbi_random_rate", 8, "high", 1, "Mop/s"),
    Figure("8-byte put_nbi, random words", "tcp", 2, "put_nbi_random_rate", 8, *RATE),
    Figure("8-byte put_nbi, successive words", "tcp", 2, "put_nbi_successive_rate", 8, *RATE),
    Figure("64 KiB put_nbi", "tcp", 2, "put_nbi_bw", 65536, "high", 0.85, "limit"),
    Figure("1 MiB put_nbi", "tcp", 2, "put_nbi_bw", 1 << 20, "high", 0.85, "limit"),
    Figure("init, 2 PEs", "node", 2, "init", 0, "low", 60, "ms"),
    Figure("init, 8 PEs", "node", 8, "init", 0, "low", 100, "ms"),
    Figure("memory after init, 2 PEs", "node", 2, "mem_pss_init", 0, "low", 12, "MiB/PE"),
    Figure("memory after init, 8 PEs", "node", 8, "mem_pss_init", 0, "low", 12, "MiB/PE"),
    Figure("blocked in a barrier", "node", 2, "idle_barrier", 0, "low", 1, "% CPU"),
    Figure("asleep in its own code", "node", 2, "idle_asleep", 0, "low", 1, "% CPU"),
    Figure("blocked in a barrier", "tcp", 2, "idle_barrier", 0, "low", 1, "% CPU"),
    Figure("asleep in its own code", "tcp", 2, "idle_asleep", 0, "low", 1, "% CPU"),
]


class Results:
    """All rows, and their medians over the rounds."""

    def __init__(self, rows):
        self.rows = rows

    def values(self, system, place, pes, metric, size):
        want = (system, place, pes, metric, size)
        return [r["value"] for r in self.rows if self.key(r) == want]

    @staticmethod
    def key(row):
        """What a row measures: the fields by which rows of all rounds belong together."""
        return tuple(row[k] for k in ("system", "place", "pes", "metric", "size"))

    def median(self, *key) -> Optional[float]:
        found = self.values(*key)
        return statistics.median(found) if found else None

    def ratio(self, ours, bases) -> Optional[float]:
        """The median over the rounds of the ratio of ours to the largest of bases in a round.

        ours and bases are keys of rows. Values of different rounds are not compared: the speed of a
        shared machine changes between rounds by more than the systems differ.
        """
        rounds = {}
        for r in self.rows:
            if self.key(r) in (ours, *bases):
                rounds.setdefault(r["round"], {})[self.key(r)] = r["value"]
        pairs = []
        for v in rounds.values():
            others = [v[b] for b in bases if v.get(b)]
            if ours in v and others:
                pairs.append(v[ours] / max(others))
        return statistics.median(pairs) if pairs else None

    def against(self, f: Figure):
        """The keys of the rows with which a figure is compared; none if its bound is a number."""
        if f.against in UNITS:
            return ()
        if f.against == "memcpy":
            return (("libshmem", f.place, f.pes, "memcpy_bw", f.size),)
        if f.against == "p and wait":
            return (("libshmem", f.place, f.pes, "p_pingpong_half", f.size),)
        if f.against == "notification":
            return (("libshmem", f.place, f.pes, "notify_pingpong_half", f.size),)
        if f.against == "4 PEs":
            return (("libshmem", f.place, 4, f.metric, f.size),)
        if f.against == "limit":
            # iperf3 measures a stream, whose row always has this size.
            return (
                ("iperf3", f.place, f.pes, f.metric, 1 << 20),
                ("raw", f.place, f.pes, f.metric, f.size),
            )
        return ((f.against, f.place, f.pes, f.metric, f.size),)

    def limit(self, f: Figure) -> Optional[float]:
        """The value of what a figure is compared with; None if that is OSHMEM or a number."""
        if f.against == "oshmem":
            return None
        found = [m for m in (self.median(*base) for base in self.against(f)) if m is not None]
        return max(found) if found else None

    def verdict(self, f: Figure):
        """(libshmem's value, OSHMEM's, the limit, the ratio or value that has a bound, met).

        None stands for what was not measured.
        """
        ours = self.median("libshmem", f.place, f.pes, f.metric, f.size)
        peer = self.median("oshmem", f.place, f.pes, f.metric, f.size)
        limit = self.limit(f)
        bases = self.against(f)
        mine = ("libshmem", f.place, f.pes, f.metric, f.size)
        ratio = self.ratio(mine, bases) if bases else ours
        if ratio is None:
            return ours, peer, limit, None, None
        met = ratio <= f.bound if f.best == "low" else ratio >= f.bound
        return ours, peer, limit, ratio, met


def _number(x, digits=3):
    return "" if x is None else f"{x:.{digits}g}" if abs(x) < 1000 else f"{x:.0f}"


def _target(f):
    sign = "at most" if f.best == "low" else "at least"
    if f.against in UNITS:
        return f"{sign} {f.bound:g} {f.against}"
    return f"{sign} {f.bound:g} x {f.against}"


# Rows of a machine with few processors, whose figures stand beside those of the page.
BESIDE = "rows-2.jsonl"

# Why a figure is not met, by its name and place.
NOT_MET = {
    (
        "1 MiB broadcast",
        "node",
    ): "Open MPI's shmem_broadcast64, of OpenSHMEM 1.4, leaves the root's "
    "dest alone. The one of 1.5 copies the bytes to the root, too: both PEs read 1 MiB at once, "
    "half of it out of the other one's cache.",
    ("1 MiB sum", "tcp"): "Two PEs exchange halves, and then their sums: as many bytes as iperf3's "
    "stream has, but each way, and one after the other.",
}


def _machine(facts):
    return f"{facts['cores']} processors ({facts['cpu']}, {facts['date']}, {facts['made']})"


def page(results, facts, beside=None):
    """The page of the results. beside: the results and facts of another machine, or None."""
    units = {(r["metric"], r["size"]): r["unit"] for r in results.rows}
    out = [
        "<!-- generated by bench/run.py -->",
        "# Figures",
        "",
        "The program of shmem-perf, `bench/oshm_micro.c` and others of `bench`, built against",
        "libshmem and against Open MPI's OSHMEM, with alternating runs. Each value is the median",
        "over the rounds of the medians that a program prints. Each ratio is the median of the",
        "ratios within a round,",
        "because the speed of a shared machine changes from round to round. `tcp` means two",
        "network namespaces connected by a veth pair. The limits were measured there as well:",
        "fi_pingpong (same provider, reliable datagram endpoint), iperf3 (one stream) and raw",
        "(`bench/raw.c`: a bare loop over fi_write with the same provider, without libshmem).",
        "`limit` is the better of iperf3 and raw, `memcpy` the memcpy row of libshmem's runs,",
        "`p and wait` its p_pingpong_half, `notification` its notify_pingpong_half, and `4 PEs`",
        "its own figure with 4 PEs. A barrier is compared with half a round trip of",
        "fi_pingpong, because there are two hosts, and a sum with the time that iperf3's stream",
        "takes for as many bytes. proxy_cpu and caller_cpu are the processor time in seconds",
        "that a million puts take from a target that sleeps outside the library, and from the",
        "caller.",
        "",
        "The exit status 139 comes from Open MPI: shmem_finalize of 4.1.4 crashes here with",
        "signal 11, after the program has printed its figures. So does a program that only",
        "calls shmem_init, shmem_malloc, shmem_free and shmem_finalize.",
        "",
        f"{facts['date']}, {facts['cores']} processors, {facts['made']}.",
    ]
    if beside:
        out += [f"The last two columns are from {_machine(beside[1])}: value and ratio."]
    more = [" libshmem, there | ratio, there |", "---|---|"] if beside else ["", ""]
    out += [
        "",
        "| figure | place | unit | libshmem | OSHMEM | limit | ratio | target | met |" + more[0],
        "|---|---|---|---|---|---|---|---|---|" + more[1],
    ]
    why = []
    for f in FIGURES:
        ours, peer, limit, ratio, met = results.verdict(f)
        if f.against in UNITS:
            ratio = None
        answer = {True: "yes", False: "no", None: "not measured"}[met]
        cells = [f.what, f.place, units.get((f.metric, f.size), "")]
        cells += [_number(ours), _number(peer), _number(limit), _number(ratio), _target(f), answer]
        if beside:
            there = beside[0].verdict(f)
            cells += [_number(there[0]), "" if f.against in UNITS else _number(there[3])]
        out.append("| " + " | ".join(cells) + " |")
        if met is False and (f.what, f.place) in NOT_MET:
            why.append(f"- {f.what}, {f.place}: {NOT_MET[f.what, f.place]}")
    if why:
        out += ["", "What is not met:", "", *why]
    out += ["", "## Machine", ""]
    out += [f"- {k.replace('_', ' ')}: {v}" for k, v in facts.items() if k not in ("date", "made")]
    out += ["", "## All rows", ""]
    out += [
        "| place | PEs | metric | size | unit | libshmem | OSHMEM | libshmem / OSHMEM | limits |"
    ]
    out += ["|---|---|---|---|---|---|---|---|---|"]
    seen = {}
    for r in results.rows:
        if r["system"] in ("libshmem", "oshmem", *LIMITS):
            seen.setdefault((r["place"], r["pes"], r["metric"], r["size"]), r["unit"])
    for (place, pes, metric, size), unit in seen.items():
        ours = results.median("libshmem", place, pes, metric, size)
        peer = results.median("oshmem", place, pes, metric, size)
        ratio = ours / peer if ours is not None and peer else None
        cells = [place, str(pes), metric, str(size), unit]
        limits = [(name, results.median(name, place, pes, metric, size)) for name in LIMITS]
        cells += [_number(ours), _number(peer), _number(ratio)]
        cells.append(", ".join(f"{name} {_number(x)}" for name, x in limits if x is not None))
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def draw(folder):
    """Writes the page of the rows in a folder, and returns the results.

    If the folder has a file BESIDE, the page also has the figures of its rows.
    """
    results, facts = _read(os.path.join(folder, "rows.jsonl"))
    other = os.path.join(folder, BESIDE)
    beside = _read(other) if os.path.exists(other) else None
    output.page(folder, "README.md", page(results, facts, beside))
    return results


def _read(path):
    facts, rows = output.read(path)
    return Results(rows), facts


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "bench/results")
