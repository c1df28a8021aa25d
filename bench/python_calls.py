#!/usr/bin/env python3
"""What a call from Python costs: put, allocation, import; writes bench/results/python.md.

Started alone it starts itself as two PEs. Each figure is the median of batches, in one
run, so that the ways of calling can be compared on a machine that does other things too.
"""

import ctypes
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = (ROOT / os.environ.get("BUILD", "build")).resolve()
OUT = ROOT / "bench" / "results" / "python.md"


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
    import numpy as np
    import shmem

    shmem.init()
    box, one, peer = shmem.zeros(1), np.ones(1, "i8"), 1
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
    shmem.barrier_all()
    for name, make in (("empty", shmem.empty), ("zeros", shmem.zeros)):
        # What is dropped by one call goes back to the heap in the next one.
        figure = per_call(lambda m=make: m(1000), 200, 10)
        if shmem.my_pe() == 0:
            yield f"{name} of 8000 bytes, 2 PEs, the one before given back", *figure
    held = []
    figure = per_call(lambda: held.append(shmem.empty(1000)), 100, 10)
    if shmem.my_pe() == 0:
        yield "empty of 8000 bytes, 2 PEs, all kept", *figure
    figure = per_call(shmem.barrier_all, 200, 20)
    if shmem.my_pe() == 0:
        yield "barrier_all, 2 PEs", *figure
    shmem.finalize()


def importing():
    """Seconds of a core for `import shmem` beyond numpy's, each time in a process of its own."""
    program = (
        "import numpy, time; t = time.process_time(); import shmem; print(time.process_time() - t)"
    )
    # As an installed package: with its bytecode, which the first one leaves.
    kept = {**os.environ, "PYTHONPYCACHEPREFIX": str(BUILD / "pycache")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    argv = [sys.executable, "-c", program]
    times = [
        float(subprocess.run(argv, env=kept, capture_output=True, check=True).stdout)
        for _ in range(12)
    ][1:]
    return statistics.median(times), min(times)


def main():
    if "--pe" in sys.argv:
        for name, median, least in rows_of_pe():
            print(f"| {name} | {median * 1e6:.2f} | {least * 1e6:.2f} |", flush=True)
        return
    path = [str(ROOT / "python"), *filter(None, sys.path)]
    os.environ["PYTHONPATH"] = ":".join(path)
    argv = [BUILD / "bin" / "shmemrun", "-n", "2", "--timeout", "300", "--", sys.executable]
    table = subprocess.run([*argv, __file__, "--pe"], stdout=subprocess.PIPE, text=True, check=True)
    median, least = importing()
    text = (
        "# Calls from Python\n\n"
        "Written by `bench/python_calls.py`; microseconds. An 8-byte put is 0.002 in C.\n\n"
        "| call | median | least |\n|---|--:|--:|\n"
        f"{table.stdout}"
        f"| import, beyond numpy, of a core | {median * 1e6:.0f} | {least * 1e6:.0f} |\n"
    )
    print(text)
    OUT.write_text(text)


if __name__ == "__main__":
    main()
