#!/usr/bin/env python3
"""The cost of calls from Python: puts, allocations, import; writes bench/results/python.md.

Starts itself as two PEs (--pe). All figures come from one run and are medians of short batches, so
that they can be compared although the machine has other work. --draw only writes the page.
"""

import ctypes
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine
import output

ROOT = Path(__file__).resolve().parent.parent
BUILD = (ROOT / os.environ.get("BUILD", "build")).resolve()
OUT = ROOT / "bench" / "results"


def per_call(function, batches=400, calls=100):
    """Seconds of a call: the median of the batches, and the least.

    A batch is short, so that most of them run in one slice of a core that is shared.
    """
    times = []
    for _ in range(batches):
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        times.append((time.perf_counter() - begin) / calls)
    return statistics.median(times), min(times)


def rows_of_pe():
    """Runs as a PE. On PE 0 yields each figure: its name, its median and its least, in seconds."""
    import numpy as np
    import shmem

    shmem.init()
    box, one, peer = shmem.zeros(1, "int64"), np.ones(1, "i8"), 1
    # PE 1 sleeps in the meantime: a PE that waits in a call uses a processor, and two processors
    # may share one core.
    done = shmem.zeros(1, "int64")
    shmem.put(box, one, pe=peer)
    if shmem.my_pe() == 0:
        yield "an empty function", *per_call(lambda: None)
        at, of = box.ctypes.data, one.ctypes.data
        path = str(BUILD / "lib" / "libshmem.so")
        for how, load in (("kept", ctypes.PyDLL), ("given up", ctypes.CDLL)):
            form = load(path).shmem_putmem
            form.restype = None
            form.argtypes = [ctypes.c_size_t] * 3 + [ctypes.c_int]
            yield f"the C call by ctypes, lock {how}", *per_call(lambda f=form: f(at, of, 8, peer))
        yield "put of 8 bytes", *per_call(lambda: shmem.put(box, one, pe=peer))
        yield "get of 8 bytes", *per_call(lambda: shmem.get(one, box, pe=peer))
        yield "p", *per_call(lambda: shmem.p(box, 1, pe=peer))
        yield "atomic_fetch_add", *per_call(lambda: shmem.atomic_fetch_add(box, 1, pe=peer))
        shmem.p(done, 1, pe=peer)
    while shmem.my_pe() == 1 and done[0] == 0:
        time.sleep(0.01)
    shmem.barrier_all()
    for name, make in (("empty", shmem.empty), ("zeros", shmem.zeros)):
        # An array that one call drops is returned to the heap in the next one.
        figure = per_call(lambda m=make: m(1000), 200, 10)
        if shmem.my_pe() == 0:
            yield f"{name} of 8000 bytes, 2 PEs, the one before given back", *figure
    held = []
    figure = per_call(lambda: held.append(shmem.empty(1000, "int64")), 100, 10)
    if shmem.my_pe() == 0:
        yield "empty of 8000 bytes, 2 PEs, all kept", *figure
    figure = per_call(shmem.barrier_all, 200, 20)
    if shmem.my_pe() == 0:
        yield "barrier_all, 2 PEs", *figure
    shmem.finalize()


def importing():
    """Seconds of a core for `import shmem` beyond numpy's, each time in a separate process."""
    program = (
        "import numpy, time; t = time.process_time(); import shmem; print(time.process_time() - t)"
    )
    # Like an installed package: with its bytecode, which the first run leaves.
    kept = {**os.environ, "PYTHONPYCACHEPREFIX": str(BUILD / "pycache")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    argv = [sys.executable, "-c", program]
    times = [
        float(subprocess.run(argv, env=kept, capture_output=True, check=True).stdout)
        for _ in range(12)
    ][1:]
    return statistics.median(times), min(times)


def of_c():
    """Microseconds of a put of 8 bytes in C to the other PE, by bench/oshm_micro.c."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/oshm_micro"
        lib = BUILD / "lib"
        gcc = ["gcc", "-O2", f"-I{ROOT}/include", str(ROOT / "bench/oshm_micro.c"), "-o", program]
        subprocess.run([*gcc, f"-L{lib}", f"-Wl,-rpath,{lib}", "-lshmem", "-lm"], check=True)
        argv = [str(BUILD / "bin/shmemrun"), "-n", "2", "--timeout", "120", "--", program]
        done = subprocess.run([*argv, "p2p", "100"], stdout=subprocess.PIPE, text=True, check=True)
    return float(re.search(r"^put_blocking_issue\t8\t([\d.]+)", done.stdout, re.MULTILINE)[1])


# The files with the rows of this machine and of another one, and the page of both.
ROWS, BESIDE, PAGE = "python.jsonl", "python-2.jsonl", "python.md"
# The names of two rows.
OF_C, IMPORT = "put of 8 bytes in C", "import, beyond numpy, of a core"


def figures(rows):
    """The figures that have a bound: their names, values, bounds and units."""
    empty = [row["median"] for row in rows.values() if re.match("(empty|zeros) of", row["name"])]
    put = rows["put of 8 bytes"]["median"] - rows[OF_C]["median"]
    return [
        ("put of 8 bytes beyond C's", put, 1.5, "us"),
        ("allocation, 2 PEs, the slowest median", max(empty), 50, "us"),
        ("import beyond numpy", rows[IMPORT]["median"] / 1e3, 50, "ms"),
    ]


def by_name(rows):
    return {row["name"]: row for row in rows}


def draw(folder):
    """Writes the page of the rows in a folder, beside those of BESIDE if that file is there."""
    facts, rows = output.read(os.path.join(folder, ROWS))
    other, others = output.read_beside(os.path.join(folder, BESIDE))
    rows, others = by_name(rows), by_name(others)
    cores = f"{other['cores']} processors" if other else ""
    text = (
        "# Calls from Python\n\n"
        f"Written by `bench/python_calls.py`; microseconds, on {facts['cores']} processors. A put\n"
        f"of 8 bytes in C is {rows[OF_C]['median']:.4f} in the same run, by `bench/oshm_micro.c`."
    )
    if other:
        text += f"\nThe last column has medians on {cores}."
    text += f"\n\n| figure | value | target | met | {cores} |\n|---|--:|--:|---|--:|\n"
    beside = (
        {name: f"{value:.3g} {unit}" for name, value, _, unit in figures(others)} if other else {}
    )
    for name, value, most, unit in figures(rows):
        met = ("no", "yes")[value <= most]
        text += (
            f"| {name} | {value:.3g} {unit} | {most} {unit} | {met} | {beside.get(name, '')} |\n"
        )
    text += f"\n| call | median | least | {cores} |\n|---|--:|--:|--:|\n"
    for name, row in rows.items():
        if name != OF_C:
            there = f"{others[name]['median']:.2f}" if name in others else ""
            text += f"| {name} | {row['median']:.2f} | {row['least']:.2f} | {there} |\n"
    text += "\n## Machine\n\n" + said(facts)
    if other:
        text += f"\nThe last column:\n\n{said(other)}"
    output.page(folder, PAGE, text)
    return text


def said(facts):
    return "".join(f"- {k.replace('_', ' ')}: {v}\n" for k, v in facts.items())


def main():
    if "--pe" in sys.argv:
        for name, median, least in rows_of_pe():
            print(
                json.dumps({"name": name, "median": median * 1e6, "least": least * 1e6}), flush=True
            )
        return
    if "--draw" in sys.argv:
        draw(OUT)
        return
    path = [str(ROOT / "python"), *filter(None, sys.path)]
    os.environ["PYTHONPATH"] = ":".join(path)
    argv = [BUILD / "bin" / "shmemrun", "-n", "2", "--timeout", "300", "--", sys.executable]
    said_by_pes = subprocess.run(
        [*argv, __file__, "--pe"], stdout=subprocess.PIPE, text=True, check=True
    )
    rows = [json.loads(line) for line in said_by_pes.stdout.splitlines()]
    median, least = importing()
    rows.append({"name": IMPORT, "median": median * 1e6, "least": least * 1e6})
    c = of_c()
    rows.append({"name": OF_C, "median": c, "least": c})
    facts = {
        **machine.facts(),
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
    }
    output.rows(OUT, ROWS, facts, rows)
    print(draw(OUT))


if __name__ == "__main__":
    main()
