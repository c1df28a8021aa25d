#!/usr/bin/env python3
"""Compares libshmem with Open MPI's OSHMEM and with the limits of the machine.

Builds the program of shmem-perf and some of this folder against both, runs them in turn, several
rounds, on the node and between two network namespaces, and writes the rows as JSON lines and a
page that says which figures are met. Standard library only.
"""

import argparse
import datetime
import functools
import os
import signal
import sys
import tempfile
from dataclasses import dataclass

import machine
import netns
import output
import perf
import report
import systems

PAIRS = 10  # additional rounds of Bench.pairs


@dataclass(frozen=True)
class Job:
    """One program with one set of arguments, for each system."""

    place: str
    pes: int
    program: str
    args: tuple
    last: str  # the metric of a row that every complete run prints
    only: str = ""  # the name of the only system to run it with; "": all

    def title(self):
        return f"{self.place}, {self.pes} PEs, {self.program} {' '.join(self.args)}".strip()


# Metrics of shmem-perf's program, and their sizes.
COLLECTIVES = {
    "barrier_all": (0,),
    "sync_all": (0,),
    "broadcast": (8, 65536, 1 << 20),
    "sum_reduce": (8, 65536, 1 << 20),
}
TURNS = {"p_pingpong_half": (8,), "put_signal_pingpong_half": (8, 4096, 65536)}
PAIR = {
    "put_quiet_lat": (8,),
    "get_lat": (8,),
    "amo_fetch_add_lat": (8,),
    "amo_inc_quiet_lat": (8,),
    "amo_inc_rate": (8,),
    "amo_cswap_lat": (8,),
    "put_nbi_rate": (8, 64),
    "put_nbi_bw": (4096, 65536, 1 << 20, 8 << 20),
    "get_nbi_bw": (4096, 65536, 1 << 20, 8 << 20),
    **TURNS,
    "put_signal_exchange": (1 << 20,),
    **COLLECTIVES,
}
MESSAGES = dict.fromkeys(
    ("send_symmetric_pingpong_half", "notify_pingpong_half"),
    (8, 1024, 4016, 8192, 65536, 1 << 20),
)


def perf_jobs(place, pes, metrics, budget, only=""):
    """The jobs of shmem-perf's program: a start for all metrics with the same sizes."""
    for tests, sizes in perf.starts((m, size) for m, of in metrics.items() for size in of):
        yield Job(place, pes, "perf", perf.arguments(tests, sizes, budget), "errors", only)


def jobs(budget_ms):
    """All jobs of a round; a figure takes budget_ms milliseconds."""
    budget = str(budget_ms)
    yield Job("node", 2, "oshm_micro", ("init",), "mem_pss_init")
    yield Job("node", 8, "oshm_micro", ("init",), "mem_pss_init")
    yield Job("node", 2, "oshm_micro", ("p2p", budget), "errors")
    yield from perf_jobs("node", 2, PAIR, budget)
    yield from perf_jobs("node", 4, COLLECTIVES, budget)
    # Not OSHMEM: its PEs wait without yielding their processors, of which there may be fewer.
    yield from perf_jobs("node", 8, COLLECTIVES, budget, only="libshmem")
    yield Job("node", 2, "idle", (), "idle_barrier")
    yield Job("tcp", 2, "oshm_micro", ("p2p", budget), "errors")
    yield from perf_jobs("tcp", 2, PAIR, budget)
    yield Job("tcp", 2, "idle", (), "idle_barrier")
    # Two-sided messages are an extension.
    for place in ("node", "tcp"):
        yield Job(place, 2, "sendrecv", (budget,), "errors", only="libshmem")
        yield from perf_jobs(place, 2, MESSAGES, budget, only="libshmem")
    yield Job("tcp", 2, "words", (budget,), "errors")
    # OSHMEM has no notifications.
    yield Job("tcp", 2, "many", (budget,), "errors", only="libshmem")
    # OSHMEM has no thread that serves a target while its program makes no call.
    yield Job("tcp", 2, "words", ("served", budget), "errors", only="libshmem")


class Bench:
    """The measurement: its rows, and the texts of the runs that failed.

    work is a folder for programs, memory one in /dev/shm for Open MPI's segments.
    """

    def __init__(self, args, work, memory):
        self.args = args
        self.rows = []
        self.failures = []
        self.work = work
        self.raw = ""
        known = {s.name: s for s in (systems.Libshmem, systems.OpenMPI)}
        wanted = [known[name] for name in args.systems.split(",")]
        self.systems = [make(work, memory, args.provider) for make in wanted]

    def add(self, system, place, pes, number, row):
        self.rows.append({"system": system, "place": place, "pes": pes, "round": number, **row})

    def measure(self, pair, number, job):
        """Runs a job once with each system. pair: the network namespaces; number: of the round."""
        # The order alternates, so that neither always runs on the warmer machine.
        order = self.systems if number % 2 else self.systems[::-1]
        for system in order:
            if job.only not in ("", system.name):
                continue
            try:
                found, status = system.measure(
                    pair, job.place, job.pes, job.program, job.args, job.last, self.args.limit
                )
            except systems.RunError as e:
                self.failures.append(str(e))
                print(f"  {system.name}: FAILED: {str(e).strip()[-300:]}", file=sys.stderr)
                continue
            if system.name == "libshmem" and status != 0:
                self.failures.append(f"libshmem, {job.title()}: exit status {status}")
            self.add(
                system.name,
                job.place,
                job.pes,
                number,
                {"metric": f"exit_status_{job.program}", "size": 0, "value": status, "unit": ""},
            )
            # On the node, rows about init come from the runs that do nothing else.
            keeps_init = job.args[:1] == ("init",) or job.place == "tcp"
            for row in found:
                # Figures that shmem-perf's program measures, too, are taken from that program.
                if job.program != "perf" and row["metric"] in perf.FIGURES:
                    continue
                if keeps_init or row["metric"] != "init" and not row["metric"].endswith("_init"):
                    self.add(system.name, job.place, job.pes, number, row)

    def pingpong(self, pair, number, provider):
        """Adds fi_pingpong's half round trip as the limit of p_pingpong_half and barrier_all."""
        half = systems.pingpong(pair, provider)
        row = {"metric": "p_pingpong_half", "size": 8, "value": half, "unit": "us"}
        self.add("fi_pingpong", "tcp", 2, number, row)
        # A barrier of two hosts is one message each way.
        row = {"metric": "barrier_all", "size": 0, "value": half, "unit": "us"}
        self.add("fi_pingpong", "tcp", 2, number, row)

    def limits(self, pair, number, provider):
        """Adds the limits of the network: fi_pingpong, iperf3 and bench/raw.c."""
        try:
            self.pingpong(pair, number, provider)
            rate = systems.stream(pair)
            row = {"metric": "put_nbi_bw", "size": 1 << 20, "value": rate, "unit": "GB/s"}
            self.add("iperf3", "tcp", 2, number, row)
            # The limit of a sum of 1 MiB: the time of that many bytes in the stream, in us.
            took = (1 << 20) / rate / 1e3
            row = {"metric": "sum_reduce", "size": 1 << 20, "value": took, "unit": "us"}
            self.add("iperf3", "tcp", 2, number, row)
            for row in systems.raw(pair, self.raw, provider, self.args.budget):
                self.add("raw", "tcp", 2, number, row)
        except systems.RunError as e:
            self.failures.append(str(e))

    def pairs(self, pair, provider):
        """More rounds of the ping-pongs, whose ratio varies from run to run by as much as its bound
        allows: two alternating programs find the processors in one of two states, in which they
        take 5 or 7 us, at random each time."""
        first = self.args.rounds + 1
        for number in range(first, first + PAIRS):
            for job in perf_jobs("tcp", 2, TURNS, self.args.budget):
                self.measure(pair, number, job)
            try:
                self.pingpong(pair, number, provider)
            except systems.RunError as e:
                self.failures.append(str(e))

    def run(self, pair):
        """Builds the programs and makes all rounds; returns libfabric's provider over tcp."""
        places = self.args.places.split(",")
        for system in self.systems:
            for program in {job.program: None for job in jobs(0) if job.only in ("", system.name)}:
                system.build(program)
        if pair:
            self.raw = systems.build_raw(self.work)
        provider = f"{self.args.provider};ofi_rxm"
        for system in self.systems:
            if pair and system.name == "libshmem":
                try:
                    provider = system.route(pair)
                except systems.RunError as e:
                    self.failures.append(str(e))
        for number in range(1, self.args.rounds + 1):
            print(f"round {number} of {self.args.rounds}", flush=True)
            for job in jobs(self.args.budget):
                if job.place in places:
                    print(f"  {job.title()}", flush=True)
                    self.measure(pair, number, job)
            if pair:
                print("  fi_pingpong, iperf3, raw", flush=True)
                self.limits(pair, number, provider)
        if pair:
            print(f"{PAIRS} pairs of ping-pongs", flush=True)
            self.pairs(pair, provider)
        if any(system.name == "libshmem" for system in self.systems):
            print("models of networks", flush=True)
            self.models()
        return provider

    def models(self):
        """Adds the rows of simulated networks."""
        try:
            for place, row in systems.models():
                self.add("libshmem", place, 2, 1, row)
        except systems.RunError as e:
            self.failures.append(str(e))


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--budget", type=int, default=100, help="milliseconds for one figure")
    p.add_argument("--places", default="node,tcp", help="of node and tcp")
    p.add_argument("--systems", default="libshmem,oshmem", help="of libshmem and oshmem")
    p.add_argument("--provider", default="tcp", help="libfabric provider between namespaces")
    p.add_argument("--limit", type=int, default=180, help="seconds for one run")
    p.add_argument("--out", default="bench/results", help="folder of README.md and rows.jsonl")
    return p.parse_args()


def main():
    args = arguments()
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    # A terminated driver leaves through the contexts, which remove the namespaces.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    facts = {"date": datetime.date.today().isoformat(), **machine.facts()}
    folder = functools.partial(tempfile.TemporaryDirectory, prefix="shmem-bench-")
    with folder() as work, folder(dir="/dev/shm") as memory:
        bench = Bench(args, work, memory)
        if "tcp" in args.places.split(","):
            with netns.Pair() as pair:
                facts["provider"] = bench.run(pair)
        else:
            bench.run(None)

    facts["made"] = f"{args.rounds} rounds, {args.budget} ms a figure"
    output.rows(args.out, "rows.jsonl", facts, bench.rows)
    results = report.draw(args.out)

    answers = [results.verdict(f)[-1] for f in report.FIGURES]
    print(
        f"bench: {answers.count(True)} figures met, {answers.count(False)} not met, "
        f"{answers.count(None)} not measured; see {args.out}/README.md"
    )
    for failure in bench.failures:
        print(f"bench: failed: {failure.strip()}", file=sys.stderr)
    return 1 if bench.failures else 0


if __name__ == "__main__":
    sys.exit(main())
