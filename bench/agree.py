#!/usr/bin/env python3
"""Compares drivers, programs of this folder, with shmem-perf, which has some of their figures.

Runs a driver and shmem-perf in turn, in several rounds, on the node and between two simulated hosts
over tcp, and prints by how much each figure differs: the median over the rounds of the ratios
within a round, and the interval in which that median lies with a confidence of 95 % or more. A
driver whose figures all agree within 3 % can go. The exit status is 1 if a figure differs by more.

    python3 bench/agree.py                       # builds the drivers, and compares them
    python3 bench/agree.py --build DIR           # only builds them, for another machine
    python3 bench/agree.py --programs DIR        # compares drivers built by --build

Standard library only.
"""

import argparse
import contextlib
import json
import math
import os
import statistics
import sys
import tempfile
import time

import perf
import systems

FOLDER = os.path.dirname(os.path.abspath(__file__))
WITHIN = 0.03  # a ratio that differs from 1 by up to this agrees
CONFIDENCE = 0.95
PLACES = {"node": (), "tcp": ("--hosts", "2")}  # the options of shmemrun
# The arguments of each driver, and the PEs with which it is compared. {} are the milliseconds of a
# figure, 524288 the most bytes that a PE gets in a call.
DRIVERS = {
    "oshm_micro": (("all", "{}"), 2),
    "sendrecv": (("{}",), 2),
    "collectives": (("{}", "524288"), 2),
}
LIMIT = 120  # seconds of one run


def interval(values):
    """The least and the greatest value of the interval that has the true median with CONFIDENCE.

    It is the smallest interval between two ranks with equal distance from the ends. It has all
    values if there are too few of them for that confidence.
    """
    # outside: the probability that at most `below` of the values are less than the true median.
    v, n = sorted(values), len(values)
    outside, below = 0.0, 0
    while below < n // 2:
        outside += math.comb(n, below) / 2**n
        if 2 * outside > 1 - CONFIDENCE:
            break
        below += 1
    below = max(below, 1)
    return v[below - 1], v[n - below]


def verdict(pairs, best):
    """The median of the ratios less 1, its interval, the ratio of the best values less 1, a word.

    pairs has the driver's value and shmem-perf's of each round. `best` is min or max, which returns
    the better of values. A figure of a few nanoseconds has two or three different values, by the
    addresses that a start of the program gets. If its medians differ by this chance, the best
    values decide.
    """
    ratios = [theirs / ours for ours, theirs in pairs]
    low, high = (x - 1 for x in interval(ratios))
    middle = statistics.median(ratios) - 1
    bests = best(theirs for _, theirs in pairs) / best(ours for ours, _ in pairs) - 1
    if abs(middle) <= WITHIN:
        means = "agrees"
    elif abs(bests) <= WITHIN:
        means = "agrees at best"
    elif low > WITHIN or high < -WITHIN:
        means = "differs"
    else:
        means = "unclear"
    return middle, low, high, bests, means


class Comparison:
    """A driver and shmem-perf at one place. pairs has their values, by metric and size."""

    def __init__(self, driver, place, args, programs):
        self.driver, self.place, self.args = driver, place, args
        self.program = os.path.join(programs, f"{driver}.libshmem")
        self.pairs = {}

    def run(self, command):
        library = os.path.join(self.args.bin, "..", "lib")
        status, out, err = systems.run(command, LIMIT, systems.environment(LD_LIBRARY_PATH=library))
        if status != 0:
            raise SystemExit(f"bench: {' '.join(command)} ended with {status}\n{out}{err}")
        return out

    def of_driver(self):
        """The values of one run of the driver, by metric and size."""
        words, pes = DRIVERS[self.driver]
        words = [word.format(self.args.budget) for word in words]
        launch = [f"{self.args.bin}/shmemrun", "-n", str(pes), *PLACES[self.place]]
        found = systems.rows(self.run([*launch, self.program, *words]))
        return {(r["metric"], r["size"]): r["value"] for r in found}

    def of_perf(self, rows):
        """The values of shmem-perf for rows, by test, measure and size."""
        pes = DRIVERS[self.driver][1]
        found = {}
        for tests, sizes in perf.starts(rows):
            command = [f"{self.args.bin}/shmem-perf", "-n", str(pes), *PLACES[self.place]]
            command += ["-T", str(self.args.budget), "--json", "-s", ",".join(map(str, sizes))]
            text = self.run([*command, *(f"{test}:{measure}" for test, measure in tests)])
            for line in map(json.loads, text.splitlines()):
                if line["kind"] == "figure":
                    found[line["test"], line["measure"], line["size"]] = line["median"]
        return found

    def round(self, number):
        """Measures each figure once by both; which of them runs first alternates."""
        if number % 2 == 0 and self.pairs:
            theirs = self.of_perf(self.pairs)
            ours = self.of_driver()
        else:
            ours = self.of_driver()
            theirs = self.of_perf(ours)
        for (metric, size), value in ours.items():
            if metric in perf.FIGURES:
                test, measure = perf.FIGURES[metric]
                other = theirs.get((test, measure, size))
                if other is None:
                    raise SystemExit(f"bench: shmem-perf has no {test} {measure} of {size}")
                self.pairs.setdefault((metric, size), []).append((value, other))

    def lines(self):
        """The results: a dict for each figure, with differences in percent."""
        for (metric, size), pairs in self.pairs.items():
            best = max if metric.endswith(("_rate", "_bw")) else min
            middle, low, high, bests, means = verdict(pairs, best)
            yield {
                "driver": self.driver,
                "place": self.place,
                "metric": metric,
                "size": size,
                "rounds": len(pairs),
                "value": statistics.median(ours for ours, _ in pairs),
                "shmem-perf": statistics.median(theirs for _, theirs in pairs),
                "difference": round(100 * middle, 2),
                "interval": [round(100 * low, 2), round(100 * high, 2)],
                "best": round(100 * bests, 2),
                "means": means,
            }


def printed(line):
    """A line of Comparison.lines as text."""
    test, measure = perf.FIGURES[line["metric"]]
    low, high = line["interval"]
    return (
        f"{line['driver']:12s} {line['place']:5s} {line['metric']:28s} {test + ' ' + measure:22s}"
        f" {line['size']:8d} {line['value']:9.4g} {line['shmem-perf']:9.4g}"
        f" {line['difference']:+7.1f} % [{low:+.1f}, {high:+.1f}], best {line['best']:+.1f} %:"
        f" {line['means']}"
    )


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--rounds", type=int, default=10)
    p.add_argument("--seconds", type=float, default=math.inf, help="for a driver at a place")
    p.add_argument("--budget", type=int, default=20, help="milliseconds for one figure")
    p.add_argument("--places", default="node,tcp", help="of node and tcp")
    p.add_argument("--drivers", default=",".join(DRIVERS), help="of " + ", ".join(DRIVERS))
    p.add_argument("--build", metavar="DIR", help="only build the drivers, in this folder")
    p.add_argument("--programs", metavar="DIR", help="the folder of drivers that are built")
    p.add_argument("--bin", default="build/bin", help="the folder of shmem-perf and shmemrun")
    p.add_argument("--out", help="also write the lines to this file, as JSON")
    return p.parse_args()


def build(folder, drivers):
    system = systems.Libshmem(folder, folder, "")
    for driver in drivers:
        system.build(driver)


def compare(args, programs, out):
    found = []
    for place in args.places.split(","):
        for driver in args.drivers.split(","):
            comparison = Comparison(driver, place, args, programs)
            begin = time.monotonic()
            for number in range(1, args.rounds + 1):
                if number > 1 and time.monotonic() - begin > args.seconds:
                    break
                comparison.round(number)
            for line in comparison.lines():
                found.append(line)
                print(printed(line), flush=True)
                if out:
                    print(json.dumps(line), file=out, flush=True)
    counts = {m: sum(x["means"] == m for x in found) for m in ("agrees", "agrees at best")}
    differ = [x for x in found if x["means"] == "differs"]
    print(
        f"{counts['agrees']} of {len(found)} figures agree within {WITHIN:.0%},"
        f" {counts['agrees at best']} at best, and {len(differ)} differ by more"
    )
    return 1 if differ else 0


def main():
    args = arguments()
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(open(args.out, "w", encoding="utf-8")) if args.out else None
        if args.programs:
            return compare(args, args.programs, out)
        return built_here(args, out)


def built_here(args, out):
    os.chdir(os.path.dirname(FOLDER))
    if args.build:
        build(args.build, args.drivers.split(","))
        return 0
    with tempfile.TemporaryDirectory(prefix="shmem-bench-") as work:
        build(work, args.drivers.split(","))
        return compare(args, work, out)


if __name__ == "__main__":
    sys.exit(main())
