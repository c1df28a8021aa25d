#!/usr/bin/env python3
"""Measures how PEs of one machine wait for each other: with two PEs, half as many as processors,
all but one, all, and twice as many, under each launcher, and how soon they are quick again after
one of them was late.

One program, bench/waits.c, built against libshmem and against Open MPI's OSHMEM, runs in turn.
Standard library only.
"""

import argparse
import datetime
import os
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass

import machine
import output
import systems

FIGURES = {
    "barrier_all": "barrier_all",
    "sum": "sum of 8 B",
    "broadcast": "broadcast of 8 B",
    "fcollect": "fcollect of 8 B",
    "collect": "collect of 8 B",
}
# The bounds: with as many PEs as processors, the ratio of a call to OSHMEM's, and of its worst
# round to the median; and every recovery.
OF_OSHMEM, WORST, RECOVERY_MS = 0.35, 3, 10
# How many times as long as with 2 PEs a call may take, by the number of PEs.
OF_TWO = {16: 4, 64: 6}
LIMIT = 60  # seconds of a run
# A metric that is 1 for a run that failed, and 0 for others. Its row has the sum of the rounds.
FAILED = "failed"


@dataclass(frozen=True)
class Way:
    """A library and a launcher of its PEs."""

    name: str
    system: str
    argv: tuple
    crowded: tuple = ()  # more options with more PEs than processors; None: it is left out then

    def command(self, pes, processors, program):
        """The command that starts the program; None if it is left out with so many PEs."""
        more = self.crowded if pes > processors else ()
        return None if more is None else [*self.argv, *more, "-n", str(pes), *program]


# On one machine mpirun needs no ssh, but looks for it.
MPIRUN = ("mpirun", "--allow-run-as-root", "--mca", "plm_rsh_agent", "sh")
WAYS = (
    Way("shmemrun", "libshmem", ("build/bin/shmemrun",)),
    Way("shmemrun --bind=none", "libshmem", ("build/bin/shmemrun", "--bind=none")),
    Way("mpirun --bind-to core", "libshmem", (*MPIRUN, "--bind-to", "core"), None),
    Way(
        "OSHMEM, mpirun --bind-to core",
        "oshmem",
        (*MPIRUN, "--bind-to", "core"),
        ("--bind-to", "none", "--oversubscribe"),
    ),
)
OSHMEM = WAYS[-1].name


@dataclass(frozen=True)
class Row:
    """One figure over all rounds."""

    pes: int
    way: str
    metric: str
    median: float
    worst: float
    rounds: int

    @staticmethod
    def of(pes, way, metric, values):
        middle = sum(values) if metric == FAILED else statistics.median(values)
        return Row(pes, way, metric, middle, max(values), len(values))


def numbers(processors):
    """The numbers of PEs to measure: 2, half as many as processors, all but one, all, and twice."""
    n = processors
    return sorted({m for m in (2, n // 2, n - 1, n, 2 * n) if m >= 2})


def bounds(rows, processors):
    """The bounds: pairs of a text, with the value, and whether it is met."""
    at = {(r.pes, r.way, r.metric): r for r in rows}
    for way in WAYS:
        if way.name == OSHMEM:
            continue
        for metric in ("barrier_all", "sum"):
            mine = at.get((processors, way.name, metric))
            other = at.get((processors, OSHMEM, metric))
            if mine is None:
                continue
            text = f"{FIGURES[metric]}, {processors} PEs, {way.name}: "
            if other is not None:
                ratio = mine.median / other.median
                yield f"{text}{ratio:.2f} of OSHMEM, at most {OF_OSHMEM}", ratio <= OF_OSHMEM
            spread = mine.worst / mine.median
            yield f"{text}worst run {spread:.1f} of the median, at most {WORST}", spread <= WORST
    for r in rows:
        two = at.get((2, r.way, r.metric))
        if r.metric in FIGURES and r.pes in OF_TWO and r.pes <= processors and r.way != OSHMEM:
            ratio, most = r.median / two.median, OF_TWO[r.pes]
            text = f"{FIGURES[r.metric]}, {r.pes} PEs, {r.way}: "
            yield f"{text}{ratio:.1f} of 2 PEs, at most {most}", ratio <= most
    for r in rows:
        if r.metric == "recovery" and r.way != OSHMEM:
            text = f"recovery, {r.pes} PEs, {r.way}: {r.worst:.2g} ms, at most {RECOVERY_MS}"
            yield text, r.worst <= RECOVERY_MS


def table(rows, metric, unit):
    """The table of a figure, by number of PEs and Way: the median, and in brackets the worst."""
    ways = [w.name for w in WAYS if any(r.way == w.name for r in rows)]
    at = {(r.pes, r.way): r for r in rows if r.metric == metric}
    lines = [f"| PEs | {' | '.join(ways)} |", "|--:|" + "--:|" * len(ways)]
    for pes in sorted({r.pes for r in rows}):
        cells = [at.get((pes, way)) for way in ways]
        shown = ("" if r is None else f"{r.median:.3g} ({r.worst:.3g})" for r in cells)
        lines.append(f"| {pes} | {' | '.join(shown)} |")
    name = FIGURES.get(metric, metric)
    return f"## {name}, {unit}\n\n" + "\n".join(lines) + "\n"


def failures(rows):
    """The runs that did not end well."""
    for r in rows:
        if r.metric == FAILED and r.median > 0:
            yield f"{r.way}, {r.pes} PEs: {r.median:g} of {r.rounds} runs ended in a fault"


def page(rows, facts, processors):
    where = output.said(facts)
    verdicts = "".join(
        f"| {text} | {'yes' if met else 'no'} |\n" for text, met in bounds(rows, processors)
    )
    rounds = max(r.rounds for r in rows)
    return (
        "<!-- generated by bench/waits.py -->\n"
        "# PEs that wait for each other on one machine\n\n"
        "`bench/waits.c`, alternated between the columns. Each cell is the median over the\n"
        "rounds, with the worst round in brackets. `recovery` is the time until barriers are\n"
        "fast again after a PE was late by 20 ms, the longest delay of a round.\n"
        f"{rounds} rounds; {where}.\n\n"
        + "\n".join(
            [
                *(table(rows, metric, "us") for metric in FIGURES),
                table(rows, "recovery", "ms"),
                table(rows, "stolen_quick", "% of the processors, taken by the host"),
                "## Faults\n\n" + "".join(f"- {f}.\n" for f in list(failures(rows)) or ["None"]),
                "## Bounds\n\n| what | met |\n|---|---|\n" + verdicts,
            ]
        )
    )


def build(work):
    """The programs, by library."""
    made = {}
    for make in (systems.Libshmem, systems.OpenMPI):
        system = make(work, work, "")
        compiler = system.compiler()[0]
        if shutil.which(compiler) is None:
            print(f"bench: no figures of {system.name}: {compiler} is missing", file=sys.stderr)
            continue
        system.build("waits")
        made[system.name] = system.binary("waits")
    return made


def measure(argv):
    """The values of one run by metric, or None if it did not end well."""
    # Variables of Open MPI stay, unlike in systems.environment: on some machines it does not start
    # without those that are set there.
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SHMEM_", "NVSHMEM_"))}
    env["LD_LIBRARY_PATH"] = os.path.join(os.getcwd(), "build", "lib")
    status, out, err = systems.run(argv, LIMIT, env)
    found = {r["metric"]: r["value"] for r in systems.rows(out)}
    # waits.c returns 1 if a sum was wrong. Open MPI's jobs may end by a signal behind all figures.
    if status == 1 or "barrier_all_behind" not in found:  # the last figure of a run
        print(f"bench: {' '.join(argv)} failed with {status}: {err.strip()}", file=sys.stderr)
        return None
    return found


def run(made, processors, args):
    """The rows of all rounds, with the programs that build has made."""
    values = {}
    end = time.monotonic() + args.seconds
    for number in range(args.rounds):
        if time.monotonic() > end:
            break
        for pes in numbers(processors):
            for way in WAYS if number % 2 else WAYS[::-1]:
                if way.system not in made or shutil.which(way.argv[0]) is None:
                    continue
                program = [made[way.system], str(args.milliseconds), str(args.delays)]
                argv = way.command(pes, processors, program)
                if argv is None:
                    continue
                take(values, pes, way.name, measure(argv))
    return [Row.of(*key, of) for key, of in values.items()]


def take(values, pes, way, found):
    """Adds what a run found to the values of its figures; None: it ended in a fault."""
    for metric, value in {**(found or {}), FAILED: found is None}.items():
        values.setdefault((pes, way, metric), []).append(value)


def arguments(description):
    """The parser of a benchmark that runs waits.c."""
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--rounds", type=int, default=20)
    p.add_argument("--milliseconds", type=int, default=50, help="of each figure")
    p.add_argument("--delays", type=int, default=5, help="of each run")
    p.add_argument("--least", type=int, default=8, help="processors without which it does nothing")
    p.add_argument("--out", default="bench/results", help="folder of the page and its rows")
    return p


def main():
    p = arguments(__doc__)
    p.add_argument("--seconds", type=int, default=3600, help="after which no round begins")
    args = p.parse_args()
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    processors = len(os.sched_getaffinity(0))
    if processors < args.least:
        print(f"bench: no figures of waits: {processors} processors, {args.least} are needed")
        return
    facts = {"date": datetime.date.today().isoformat(), **machine.facts()}
    with tempfile.TemporaryDirectory(prefix="shmem-bench-") as work:
        rows = run(build(work), processors, args)
    output.rows(args.out, f"waits-{processors}.jsonl", facts, map(vars, rows))
    text = page(rows, facts, processors)
    output.page(args.out, f"waits-{processors}.md", text)
    print(text)


if __name__ == "__main__":
    main()
