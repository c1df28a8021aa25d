#!/usr/bin/env python3
"""Measures the start of a job: initialisation under each launcher, and the reading of a machine's
topology.

A program that calls init, a barrier and finalize is compared with one that does nothing, started
alternately by the same launcher: the difference is the library's. Under mpirun there is a third
program, which only calls PMIx's init and finalize, and on two simulated hosts one that only loads
libfabric. Standard library only.
"""

import argparse
import datetime
import os
import re
import resource
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass

import machine
import output
import systems

PES = (2, 4, 8)
PES_OF_TWO_HOSTS = (2, 4)
LAUNCHERS = {
    "shmemrun": ("build/bin/shmemrun", "-n"),
    "Hydra": ("mpiexec.hydra", "-n"),
    "mpirun": ("mpirun", "--allow-run-as-root", "--oversubscribe", "-n"),
}
WHAT = {
    "nothing": (),
    "pmix": ("-DWHAT=1", "-l:libpmix.so.2"),
    "init": ("-DWHAT=2", "-Iinclude", "-Lbuild/lib", "-lshmem", "-Wl,-rpath,build/lib"),
    "load": ("-DWHAT=3", "-ldl"),
}
# The bounds in milliseconds: of init on one host, on two, and of the reading of a topology.
INIT, NETWORK, READ = 50, 100, 20


@dataclass(frozen=True)
class Row:
    """One figure: its median and least over the rounds, in milliseconds."""

    name: str
    median: float
    least: float
    wanted: float = 0  # 0: no bound

    def line(self, beside=None):
        """The row of the page; beside: the row of the same name of another machine."""
        met = "" if self.wanted == 0 else "yes" if self.median <= self.wanted else "no"
        wanted = f"{self.wanted:g}" if self.wanted else ""
        other = f"{beside.median:.1f}" if beside else ""
        return (
            f"| {self.name} | {self.median:.1f} | {self.least:.1f} | {wanted} | {met} | {other} |"
        )


def build(work):
    """Builds the programs; returns their paths by the keys of WHAT. PMIx is left out if missing."""
    made = {}
    for what, flags in WHAT.items():
        made[what] = os.path.join(work, what)
        define = flags or ("-DWHAT=0",)
        argv = ["gcc", "-O2", "bench/start.c", "-o", made[what], *define]
        status, _, err = systems.run(argv, 120)
        if status != 0 and what == "pmix":
            print(f"bench: no row of PMIx: {err.strip()}", file=sys.stderr)
            del made[what]
        elif status != 0:
            raise SystemExit(f"bench: build start.c failed\n{err}")
    return made


def seconds(argv):
    """The time of a job, from the start of its launcher to its end."""
    began = time.perf_counter()
    status, out, err = systems.run(argv, 120)
    took = time.perf_counter() - began
    if status != 0:
        raise SystemExit(f"bench: {' '.join(argv)} failed with {status}\n{out}{err}")
    return took


def starts(made, rounds):
    """The rows of initialisation: the time of each program less that of the empty one."""
    for name, launcher in LAUNCHERS.items():
        if shutil.which(launcher[0]) is None:
            print(f"bench: no rows of {name}: {launcher[0]} is not installed", file=sys.stderr)
            continue
        for n in PES:
            argv = [*launcher, str(n)]
            more = [
                what for what in made if what == "init" or (what == "pmix" and name == "mpirun")
            ]
            beyond = {what: [] for what in more}
            alone = []
            # The first round fills the file cache.
            for number in range(rounds + 1):
                base = seconds([*argv, made["nothing"]])
                for what in more if number % 2 else more[::-1]:
                    extra = seconds([*argv, made[what]]) - base
                    if number > 0:
                        beyond[what].append(extra * 1e3)
                if number > 0:
                    alone.append(base * 1e3)
            yield Row(f"{name}, {n} PEs, a program that does nothing", *summary(alone))
            for what, label in (("pmix", "PMIx alone, beyond that"), ("init", "init, beyond that")):
                if what in beyond:
                    wanted = INIT if what == "init" else 0
                    yield Row(f"{name}, {n} PEs, {label}", *summary(beyond[what]), wanted)


def used(argv):
    """The time of a job and the processor time of all its processes, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = seconds(argv)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def networks(made, rounds):
    """The rows of a job on two simulated hosts: what init costs beyond the load of libfabric."""
    for n in PES_OF_TWO_HOSTS:
        argv = [LAUNCHERS["shmemrun"][0], "--hosts", "2", "-n", str(n)]
        load, init, processors = [], [], []
        for number in range(rounds + 1):
            base, loading, whole = (
                used([*argv, made[what]]) for what in ("nothing", "load", "init")
            )
            if number > 0:
                load.append((loading[0] - base[0]) * 1e3)
                init.append((whole[0] - loading[0]) * 1e3)
                processors.append((whole[1] - loading[1]) * 1e3)
        name = f"shmemrun --hosts 2, {n} PEs"
        yield Row(f"{name}, libfabric's load", *summary(load))
        yield Row(f"{name}, init, beyond that", *summary(init), NETWORK)
        yield Row(f"{name}, init, of processors, beyond that", *summary(processors))


def summary(values):
    return statistics.median(values), min(values)


# Go benchmarks of runtime/topo: what each reads, and its bound.
READS = {
    "BenchmarkRead": ("topology of this machine, by hwloc", READ),
    "BenchmarkReadSys": ("topology of 192 processors and 400 devices, by /sys", READ),
}


def reads(text):
    """The rows of the benchmarks in READS, from go test's output."""
    found = {}
    for name, ns in re.findall(
        r"^(Benchmark\w+)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op", text, re.MULTILINE
    ):
        found.setdefault(name, []).append(float(ns) / 1e6)
    for name, (label, wanted) in READS.items():
        if name in found:
            yield Row(label, *summary(found[name]), wanted)
        else:
            raise SystemExit(f"bench: go test has no {name}\n{text}")


def topology(rounds):
    go = os.environ.get("GO", "go")
    argv = [go, "test", "-run", "^$", "-bench", "^(BenchmarkReadSys|BenchmarkRead)$"]
    argv += [f"-count={rounds}", "./runtime/topo", "./runtime/topo/hwloc"]
    status, out, err = systems.run(argv, 600, dict(os.environ))
    if status != 0:
        raise SystemExit(f"bench: {' '.join(argv)} failed\n{out}{err}")
    return reads(out)


# The file of the rows of another machine, in the folder of the results.
BESIDE = "start-2.jsonl"


def draw(folder):
    """Writes the page of the rows in a folder, beside those of BESIDE if that file is there."""
    facts, found = output.read(os.path.join(folder, "start.jsonl"))
    rows = [Row(**row) for row in found]
    other, found = output.read_beside(os.path.join(folder, BESIDE))
    others = {row["name"]: Row(**row) for row in found}
    cores = f"{other['cores']} processors" if other else ""
    where = f"On {facts['cores']} processors: {output.said(facts)}.\n"
    if cores:
        where += f"In the last column, medians on {cores}: {output.said(other)}.\n"
    text = (
        "<!-- generated by bench/start.py -->\n"
        "# Until a job runs\n\n"
        "Milliseconds, on one host. `init, beyond that` is how much longer a program takes that\n"
        "calls init, a barrier and finalize: the two programs are started in turn, and the figure\n"
        "is the median of the differences within a round. `PMIx alone` only calls PMIx_Init and\n"
        "PMIx_Finalize of the launcher's library. With `--hosts 2` a program that only loads\n"
        "libfabric is started as well; `of processors` is processor time, summed over all PEs.\n\n"
        f"{where}\n"
        f"| what | median | least | at most | met | {cores} |\n|---|--:|--:|--:|---|--:|\n"
        + "".join(row.line(others.get(row.name)) + "\n" for row in rows)
    )
    output.page(folder, "start.md", text)
    return text


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rounds", type=int, default=11)
    p.add_argument("--out", default="bench/results", help="folder of start.md and start.jsonl")
    p.add_argument("--draw", action="store_true", help="write the page of the rows that are there")
    args = p.parse_args()
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if args.draw:
        draw(args.out)
        return
    facts = {
        "rounds": args.rounds,
        "date": datetime.date.today().isoformat(),
        **machine.facts(),
    }
    with tempfile.TemporaryDirectory(prefix="shmem-bench-") as work:
        made = build(work)
        rows = [*starts(made, args.rounds), *networks(made, args.rounds), *topology(5)]
    output.rows(args.out, "start.jsonl", facts, map(vars, rows))
    print(draw(args.out))


if __name__ == "__main__":
    main()
