#!/usr/bin/env python3
"""Checks shmem-trace replay against this machine: halo3d, gups and pagerank over tcp between two
network namespaces, predicted from traces of one node.

In each round shmem-perf, bench/woken.c and every program run over tcp, and every program runs on
one node under libshmem_preload.so, which records its trace. The medians of shmem-perf's and woken's
figures are the parameters of the prediction. A prediction counts as met when the medians of the
predicted and of the measured times differ by up to 30 %. The times are those that the programs
print, between their last two barriers. Standard library only.
"""

import argparse
import json
import os
import re
import statistics
import sys
import tempfile

import systems

PROGRAMS = {
    "halo3d": ("halo3d", "96", "96", "96", "50", "1"),
    "halo3d, 2 threads": ("halo3d", "96", "96", "96", "50", "2"),
    "gups": ("gups", "65536", "100000"),
    "pagerank": ("pagerank", "20"),
}
WITHIN = 0.3  # how far a met prediction may be from the measurement
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHIM = os.path.join(ROOT, "build", "lib", "libshmem_preload.so")
NETWORK = ("--hosts", "2", "--host-netns")
# The tests of shmem-perf that give the parameters of a prediction.
FIGURES = ("p_visible", "put_bandwidth", "put_latency", "put_rate", "get_latency")
FIGURES += ("fetch_add", "add_rate", "put_signal_exchange", "barrier")


def launch(options, argv, env, command="shmemrun"):
    """Starts a program with two PEs, and returns its output."""
    argv = [f"build/bin/{command}", "-n", "2", *options, *argv]
    status, out, err = systems.run(argv, 120, systems.environment(**env))
    if status != 0:
        raise SystemExit(f"bench: {' '.join(argv)} failed with {status}\n{out}{err}")
    return out


def seconds(out):
    """The seconds that a program of examples has printed, as in "12.345 s,"."""
    found = re.search(r"([\d.]+) s,", out)
    if found is None:
        raise SystemExit(f"bench: the program printed no time:\n{out}")
    return float(found.group(1))


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def met(predicted, measured):
    """Reports whether the medians of predictions and measurements differ by at most WITHIN."""
    return abs(statistics.median(predicted) / statistics.median(measured) - 1) <= WITHIN


def compiled(work, name):
    """Builds bench/NAME.c, and returns the path of the program."""
    program, lib = os.path.join(work, name), os.path.abspath("build/lib")
    compiler = ["gcc", "-std=gnu11", "-O2", f"bench/{name}.c", "-o", program, "-Iinclude"]
    compiler += [f"-L{lib}", "-lshmem", f"-Wl,-rpath,{lib}"]
    status, out, err = systems.run(compiler, 120, systems.environment())
    if status != 0:
        raise SystemExit(f"bench: {' '.join(compiler)} failed with {status}\n{out}{err}")
    return program


def measure(args, work, env):
    """Makes all rounds.

    Returns the output of shmem-perf and woken, and by program: the times over tcp, the times on one
    node, and the folders of the traces.
    """
    woken = compiled(work, "woken")
    sizes = ["-s", "8,4K,64K,1M", "-T", str(args.budget), "--json"]
    figures, real, node, traces = "", {}, {}, {}
    for number in range(args.rounds):
        figures += launch(NETWORK, [*sizes, *FIGURES], env, "shmem-perf")
        figures += launch(NETWORK, [woken], env)
        for name, (program, *rest) in PROGRAMS.items():
            argv = [f"build/examples/{program}", *rest]
            folder = os.path.join(work, f"{program}.{len(rest)}.{rest[-1]}.{number}")
            trace = {"LD_PRELOAD": args.shim, "SHMEM_PRELOAD": f"trace,file={folder}"}
            real.setdefault(name, []).append(seconds(launch(NETWORK, argv, env)))
            node.setdefault(name, []).append(seconds(launch((), argv, {**env, **trace})))
            traces.setdefault(name, []).append(folder)
    return figures, real, node, traces


def predict(folder, parameters, work, processors):
    """The predicted time of the last phase in seconds, and the bottleneck that shmem-trace names.

    folder has a trace; processors is the number of them on each of the two hosts.
    """
    out = os.path.join(work, "prediction.json")
    argv = ["build/bin/shmem-trace", "replay", folder, "--model", "tcp", "--hosts", "2"]
    argv += ["--processors", str(processors), "--measured", parameters, "--json", out]
    status, text, err = systems.run(argv, 600, systems.environment())
    if status != 0:
        raise SystemExit(f"bench: {' '.join(argv)} failed with {status}\n{text}{err}")
    with open(out, encoding="utf-8") as f:
        found = json.load(f)
    return found["phases"][-1]["predicted_ns"] / 1e9, found["bottleneck"]


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--budget", type=int, default=10, help="milliseconds for a figure")
    p.add_argument("--shim", default=SHIM, help="the recorder")
    args = p.parse_args()
    if not os.path.exists(args.shim):
        raise SystemExit(f"bench: there is no {args.shim} (run make build)")
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as work:
        measured, real, node, traces = measure(args, work, {})
        parameters = os.path.join(work, "figures")
        with open(parameters, "w", encoding="utf-8") as f:
            f.write(measured)
        print("| program | one node, s | tcp, s | predicted, s | ratio | within 30 % | bound |")
        print("|---|--:|--:|--:|--:|---|---|")
        missed = 0
        processors = max(1, len(os.sched_getaffinity(0)) // 2)
        for name, folders in traces.items():
            found = [predict(folder, parameters, work, processors) for folder in folders]
            times = [t for t, _ in found]
            near = met(times, real[name])
            missed += not near
            ratio = statistics.median(times) / statistics.median(real[name])
            print(
                f"| {name} | {spread(node[name])} | {spread(real[name])} | {spread(times)} "
                f"| {ratio:.2f} | {'yes' if near else 'no'} | {found[-1][1]} |"
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
