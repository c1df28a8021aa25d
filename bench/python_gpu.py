#!/usr/bin/env python3
"""Compares calls from Python on two GPUs with the same calls from C, and with NCCL's.

    python3 bench/python_gpu.py    writes python-gpu.md, into bench/results or OUT, and prints it

C's times are those of bench/gpu/host.cu and stream.cu (`make gpu-figures`), which run in turn with
the same calls from Python: a put of 64 MiB with a quiet, and puts of 64 MiB on a stream. An
alltoall of shmem and torch.distributed's all_to_all_single by NCCL alternate in the same processes,
on the same stream. A ratio is the median of those within a round.

The machine needs two GPUs, torch with NCCL, and numpy; of this tree it needs bench, python and
build/gpu.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
BUILD = (ROOT / os.environ.get("BUILD", "build") / "gpu").resolve()
sys.path.insert(0, str(ROOT / "bench"))
import machine  # noqa: E402

PUT = 64 << 20
EXCHANGED = 4 << 20  # a PE's whole source
ROUNDS = 3
LIMIT = 60  # seconds of a job

# The comparisons: title, the row of Python, the row of its bound, the system of that row, and the
# bound of the ratio.
FIGURES = [
    ("put of 64 MiB and quiet, host call", "host_put", "host_put", "C", 1.02),
    ("put of 64 MiB on a stream", "put_on_stream", "put_on_stream", "C", 1.02),
    ("alltoall of 4 MiB on a stream", "alltoall", "all_to_all_single", "NCCL", 1.1),
    ("shmem.torch.all_to_all of 4 MiB", "torch_all_to_all", "all_to_all_single", "NCCL", 1.1),
]


# ---------------------------------------------------------------- in the PEs


def say(name: str, size: int, us: list[float]) -> None:
    """Prints the row of a figure: bytes, and the median, least and greatest microseconds."""
    us = sorted(us)
    row = {"figure": name, "bytes": size, "value": us[len(us) // 2], "min": us[0], "max": us[-1]}
    print(json.dumps(row), flush=True)


def puts() -> None:
    """Runs as a PE: the puts of bench/gpu/host.cu and stream.cu, with the same repetitions."""
    import shmem
    import torch

    shmem.init()
    me = shmem.my_pe()
    to, source = (shmem.zeros(PUT, "uint8", device="cuda") for _ in range(2))
    torch.cuda.set_device(to.device)
    source.fill_(7)
    torch.cuda.synchronize()
    shmem.barrier_all()
    if me == 0:
        us, n = [], 3
        for rep in range(6):
            began = time.perf_counter()
            for _ in range(n):
                shmem.put(to, source, pe=1)
                shmem.quiet()
            each = (time.perf_counter() - began) / n
            if rep == 0:
                n = int(max(3.0, min(1000.0, 0.02 / each)))
            else:
                us.append(1e6 * each)
        say("host_put", PUT, us)
    shmem.barrier_all()
    stream = torch.cuda.Stream()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    us = []
    for rep in range(8):
        shmem.barrier_all()
        begin.record(stream)
        for _ in range(20):
            if me == 0:
                shmem.put(to, source, pe=1, stream=stream)
        end.record(stream)
        stream.synchronize()
        if rep > 0:
            us.append(1e3 * begin.elapsed_time(end) / 20)
    if me == 0:
        say("put_on_stream", PUT, us)
    shmem.barrier_all()
    if me == 1 and not bool((to == 7).all()):
        sys.exit("python_gpu: the puts have not arrived")
    shmem.barrier_all()
    shmem.finalize()


def exchange(meeting: str) -> None:
    """Runs as a PE: three calls that exchange blocks, in turn. meeting: a new file for NCCL."""
    import shmem
    import shmem.torch as st
    import torch
    from torch import distributed

    shmem.init()
    me, n = shmem.my_pe(), shmem.n_pes()
    dest, source = (shmem.zeros(EXCHANGED // 4, "float32", device="cuda") for _ in range(2))
    torch.cuda.set_device(dest.device)
    store = distributed.FileStore(meeting, n)
    distributed.init_process_group(
        "nccl", store=store, rank=me, world_size=n, device_id=dest.device
    )
    theirs, ours = torch.empty_like(dest), torch.empty_like(source)
    each = source.numel() // n
    for j in range(n):
        source[j * each : (j + 1) * each] = 10 * me + j
    ours.copy_(source)
    expected = torch.cat([torch.full((each,), 10.0 * j + me, device="cuda") for j in range(n)])
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    shmem.barrier_all()

    def of_shmem() -> None:
        shmem.alltoall(dest, source, stream=stream)

    def of_torch() -> None:
        st.all_to_all(source, out=dest)

    def of_nccl() -> None:
        distributed.all_to_all_single(theirs, ours)

    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    ways = {"alltoall": of_shmem, "torch_all_to_all": of_torch, "all_to_all_single": of_nccl}
    times: dict[str, list[float]] = {name: [] for name in ways}
    with torch.cuda.stream(stream):
        for rep in range(12):
            for name, call in ways.items():
                torch.cuda.synchronize()
                shmem.barrier_all()
                begin.record(stream)
                for _ in range(100):
                    call()
                end.record(stream)
                stream.synchronize()
                if rep > 1:
                    times[name].append(1e3 * begin.elapsed_time(end) / 100)
    torch.cuda.synchronize()
    for name, got in (("shmem", dest), ("NCCL", theirs)):
        if not torch.equal(got, expected):
            sys.exit(f"python_gpu: {name} has brought other blocks")
    for name, took in times.items():
        if me == 0:
            say(name, EXCHANGED, took)
    if me == 0:
        about = {
            "GPU": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "NCCL": ".".join(map(str, torch.cuda.nccl.version())),
        }
        print(json.dumps({"about": about}), flush=True)
    shmem.barrier_all()
    distributed.destroy_process_group()
    shmem.finalize()


# ------------------------------------------------------------------ the page


def rows(*command: str) -> list[dict]:
    """Starts a job of two PEs; returns the JSON objects in its output."""
    path = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    env = {
        **os.environ,
        "PYTHONPATH": path.rstrip(os.pathsep),
        "SHMEM_HEAP": "device",
        "SHMEM_SYMMETRIC_SIZE": "512m",
        "NCCL_NVLS_ENABLE": "0",  # the comparison excludes multicast in the switch
    }
    argv = [str(BUILD / "bin/shmemrun"), "-n", "2", "--timeout", str(LIMIT), "--", *command]
    done = subprocess.run(argv, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"python_gpu: run {' '.join(argv)}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def values(found: list[dict], size: int) -> dict[str, float]:
    """The values of the rows of this many bytes, by figure."""
    return {r["figure"]: r["value"] for r in found if r.get("bytes") == size}


def measure() -> tuple[list[dict[str, tuple[float, float]]], dict[str, str]]:
    """Makes all rounds.

    Returns for each round the microseconds of Python and of the other system, by the title of a
    figure; and the versions that the PEs report.
    """
    rounds, about = [], {}
    for _ in range(ROUNDS):
        c = rows(str(BUILD / "figures/host"), str(PUT)) + rows(str(BUILD / "figures/stream"), "put")
        py = rows(sys.executable, __file__, "--puts")
        with tempfile.TemporaryDirectory() as folder:
            both = rows(sys.executable, __file__, "--exchange", f"{folder}/store")
        for row in both:
            about.update(row.get("about", {}))
        mine = values(py, PUT) | values(both, EXCHANGED)
        others = {"C": values(c, PUT), "NCCL": values(both, EXCHANGED)}
        rounds.append({f[0]: (mine[f[1]], others[f[3]][f[2]]) for f in FIGURES})
    return rounds, about


def page(rounds: list[dict[str, tuple[float, float]]], about: dict[str, str]) -> str:
    """The figures as Markdown."""
    lines = [
        "<!-- generated by bench/python_gpu.py -->",
        "# Python on two GPUs",
        "",
        "The same calls from Python and from C, in turn, and an alltoall compared with NCCL's in",
        "the same processes, without multicast in the switch. Each value is the median over the",
        "rounds of a program's medians, each ratio the median of the ratios within a round.",
        "",
        "| figure | unit | Python | held against | ratio | of the rounds | target | met |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for title, _, _, other, most in FIGURES:
        pairs = [r[title] for r in rounds]
        ratios = sorted(a / b for a, b in pairs)
        ratio = median(ratios)
        mine, theirs = (median(p[i] for p in pairs) for i in (0, 1))
        spread = f"{ratios[0]:.3f} to {ratios[-1]:.3f}"
        met = "yes" if ratio <= most else "no"
        lines.append(
            f"| {title} | us | {mine:.4g} | {other} {theirs:.4g} | {ratio:.3f} | {spread} "
            f"| at most {most} x {other} | {met} |"
        )
    lines += ["", "## Machine", ""]
    lines += [f"- {name}: {value}" for name, value in about.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    os.chdir(ROOT)
    rounds, about = measure()
    facts = {k.replace("_", " "): v for k, v in machine.facts().items() if v != "unknown"}
    facts |= about | {"date": datetime.date.today().isoformat(), "rounds": str(len(rounds))}
    text = page(rounds, facts)
    out = Path(os.environ.get("OUT", ROOT / "bench/results")) / "python-gpu.md"
    out.write_text(text)
    print(text, end="")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--puts"]:
        puts()
    elif sys.argv[1:2] == ["--exchange"]:
        exchange(sys.argv[2])
    else:
        main()
