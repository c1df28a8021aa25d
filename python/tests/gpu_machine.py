#!/usr/bin/env python3
"""Runs the tests of Python on a machine with GPUs, with the files that `make gpu-test` built:

    python3 python/tests/gpu_machine.py [NAME...]    all rows, or those with NAME in theirs

The machine needs NVIDIA's driver, numpy, pytest, torch, cupy and numba with its part for CUDA; of
this tree it needs python/, examples/ and build/gpu. A row is a job; a failure in it is shown, and
then the job is run again without the test that failed, so that one run shows all failures. All
output goes to gpu-python.txt in the folder that OUT names, else into build/gpu. The status is 1
when a row failed.

On a machine with one GPU all PEs share it, by NVIDIA's MPS if that starts, as with
tests/gpu/run.sh. Rows for several GPUs are left out there, and named at the end.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path

os.environ.setdefault("BUILD", "build/gpu")

from launch import BUILD, ROOT, SHMEMRUN, variables  # noqa: E402

LIMIT = 150  # the most seconds of a job
AGAIN = 5  # how many tests that failed a job may be repeated without

TESTS = ROOT / "python" / "tests"
TCP = {"SHMEM_PROVIDER": "tcp"}
RING = {"SHMEM_DISABLE_P2P": "1"}
GPU = {"SHMEM_HEAP": "device"}
GROWS = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}

# Tests of programs as users write them first. Their PEs share a GPU without MPS, since a user has
# not started it.
DRAFT = "machine/test_draft.py"
MPS = ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY")

# A job's name, its options, its variables, its tests: a folder or a file, and behind -k the words
# that select some of them.
Row = tuple[str, str, dict[str, str], str]

CPU = {"SHMEM_HEAP": "host"}
ON_CPU: list[Row] = [
    ("cpu/1", "-n 1", CPU, "pes"),
    ("cpu/2", "-n 2", CPU, "pes"),
    ("cpu/4", "-n 4", CPU, "pes"),
    ("cpu/hosts", "-n 2 --hosts 2", CPU | TCP, "pes"),
    ("cpu/chaos", "-n 2 --chaos 1", CPU, "pes"),
    ("cpu/torch", "-n 2", CPU, "torch"),
]

# The paths between PEs, as in tests/gpu/run.sh: one PE alone, by loads and stores, through the ring
# and the proxy, and between two simulated hosts on the node.
WAYS: list[tuple[str, str, dict[str, str]]] = [
    ("one", "-n 1", GPU),
    ("direct", "-n 2", GPU),
    ("ring", "-n 2", GPU | RING),
    ("hosts", "-n 2 --hosts 2", GPU | TCP),
]
# These, and the ring with a proxy that copies by the GPU's copy engine.
COPIED = [*WAYS, ("copy", "-n 2", GPU | RING | {"SHMEM_GPU_NET": "copy"})]
ON_GPU: list[Row] = [
    *((f"gpu/{way}", options, env, "gpu") for way, options, env in WAYS),
    *((f"machine/{way}", options, env, "machine") for way, options, env in WAYS),
    *((f"torch/{way}", options, env, "torch") for way, options, env in COPIED),
    *((f"first/{way}", options, env, "machine/test_first.py") for way, options, env in WAYS),
    ("expandable/direct", "-n 2", GPU | GROWS, "machine/test_locals.py"),
    ("expandable/ring", "-n 2", GPU | RING | GROWS, "machine/test_locals.py"),
    ("expandable/torch", "-n 2", GPU | GROWS, "torch"),
]

# Kernels of Triton that are linked with this library's bitcode. LD_PRELOAD loads this library's
# libnvshmem_host before the one that torch brings.
LIB = BUILD / "lib"
LINKED = {"LD_PRELOAD": str(LIB / "libnvshmem_host.so.3"), "NVSHMEM_LIB_DIR": str(LIB)}
ON_GPU += [(f"bitcode/{way}", options, env | LINKED, "bitcode") for way, options, env in WAYS]

# Through the proxy, on one GPU that all PEs share, also on machines with several.
SHARED = GPU | {"CUDA_VISIBLE_DEVICES": "0"}
SOME = f"{DRAFT} -k driver or triton or numba"
ROUTES: list[tuple[str, str, dict[str, str]]] = [
    ("ring", "", SHARED | RING),
    ("copy", "", SHARED | RING | {"SHMEM_GPU_NET": "copy"}),
    ("hosts", " --hosts 2", SHARED | TCP),
]
DRAFTS: list[Row] = [
    (f"draft/{route}-{n}", f"-n {n}{hosts}", env, DRAFT if n == 2 else SOME)
    for n in (2, 3, 4)
    for route, hosts, env in ROUTES
]

SLOWEST = re.compile(r"(\d+\.\d+)s call +\S*::(\S+)")
# Lines that job.py prints: COUNTS by each PE at its end, FAILED by the PE whose test failed. job.py
# also reads the variable WITHOUT: the tests to leave out, a line each, by their pytest ids or as
# FILE::FUNCTION, because HUNG has no more than these.
COUNTS = re.compile(r"(?<!\d)([1-9]\d*) passed, 0 failed, (\d+) skipped")
FAILED = re.compile(r"(\S*test_\w+\.py::\S.*?): (?:call|setup|teardown) failed")
NOISE = re.compile(
    r" PASSED |session starts|^(platform|rootdir|configfile|plugins|collected)|^\s*$"
    r"|/_pytest/|/pluggy/|/pytest/__|<frozen runpy>|Extension modules:"
)
HUNG = re.compile(r'File "\S*/(test_\w+\.py)", line \d+ in (test_\w+)')

results = Path(os.environ.get("OUT", BUILD)) / "gpu-python.txt"
ONLY = sys.argv[1:]
output_lock = threading.Lock()
verdicts: list[bool] = []  # of each row: whether it passed
left: list[str] = []  # rows that were left out because they need several GPUs


def report(name: str, verdict: str, seconds: float, shown: str, whole: str) -> None:
    """Prints the result of a row, under the output `shown`; the file gets the whole output."""
    line = f"== python/{name}: {verdict}, {seconds:.1f} s"
    with output_lock, results.open("a") as out:
        out.write(f"{whole}\n{line}\n")
        print(*(f"  {text}" for text in shown.splitlines()), line, sep="\n", flush=True)
        verdicts.append(not verdict.startswith("FAILED"))


def say(line: str) -> None:
    """Prints a line, and writes it to the file."""
    with output_lock, results.open("a") as out:
        out.write(f"{line}\n")
        print(line, flush=True)


def culprit(text: str) -> str | None:
    """The test that failed, or the test in which a PE was when its time was over; else None."""
    if found := FAILED.search(text):
        return found[1]
    names = [f"{file}::{function}" for file, function in HUNG.findall(text)]
    return names[0] if names else None


def run_job(
    options: str, env: dict[str, str], command: list[str], without: tuple[str, ...] = ()
) -> tuple[int, str]:
    """Runs a command as a job, and returns its status (124: it did not end) and its output.

    options are those of shmemrun, env are more variables, without names variables to leave out.
    """
    argv = [str(SHMEMRUN), "--timeout", str(LIMIT), *options.split(), "--", *command]
    try:
        done = subprocess.run(
            argv,
            env={k: v for k, v in variables(**env).items() if k not in without},
            cwd=ROOT,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT + 20,  # shmemrun ends the job before that, with a report
        )
    except subprocess.TimeoutExpired as error:
        text = error.stdout or b""
        return 124, text.decode(errors="replace") if isinstance(text, bytes) else text
    return done.returncode, done.stdout


def tests(name: str, options: str, env: dict[str, str], what: str) -> None:
    """One row: a job whose PEs all run the tests of a folder or a file."""
    began, left_out, whole, shown = time.monotonic(), [], "", ""
    n = int(options.split()[1])
    env = env | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # for plugins installed there
    pytest = [sys.executable, "-m", "pytest", "-v", "-rs", "--tb=short", "--showlocals"]
    pytest += ["--durations=1"]
    # torch takes a while to compile.
    timeout = 80 if what in ("torch", "bitcode", DRAFT) else 30
    pytest += ["-o", f"faulthandler_timeout={timeout}", "-o", "faulthandler_exit_on_timeout=true"]
    where, _, words = what.partition(" -k ")
    pytest += ["-c", "python/pyproject.toml", str(TESTS / where)]
    pytest += ["-k", words] if words else []
    pytest += ["--ignore", str(TESTS / DRAFT)] if what == "machine" else []
    without = MPS if where == DRAFT else ()
    while True:
        status, text = run_job(options, env | {"WITHOUT": "\n".join(left_out)}, pytest, without)
        whole += f"== {name}, without {left_out}: status {status}\n{text}"
        counts = COUNTS.findall(text)
        if status == 0 and len(counts) == n:
            break
        test = culprit(text)
        lines = [x for x in text.splitlines() if not NOISE.search(x)]
        shown += f"status {status}, in {test or 'no test'}:\n" + "\n".join(lines[-80:]) + "\n"
        if test is None or test in left_out or len(left_out) == AGAIN:
            left_out.append(test or "all that came behind")
            break
        left_out.append(test)
    shown += "".join(f"{x}\n" for x in sorted(set(re.findall(r"^SKIPPED.*$", text, re.M))))
    verdict = f"FAILED: {', '.join(left_out)}" if left_out else f"ok, {counts[0][0]} passed"
    if slow := max(((float(s), test) for s, test in SLOWEST.findall(text)), default=None):
        verdict += f", the longest {slow[1]} of {slow[0]:.1f} s"
    report(name, verdict, time.monotonic() - began, shown, whole)


def example() -> None:
    """examples/kv_transfer with one PE and with two: the same results, to the last bit."""
    program = [sys.executable, str(ROOT / "examples/kv_transfer/kv_transfer.py")]
    program += ["--steps", "30", "--device", "cuda"]
    first: list[str] = []
    for way, options, env in COPIED:
        name, began = f"kv_transfer/{way}", time.monotonic()
        if not wanted(name):
            continue
        status, text = run_job(options, env, program)
        # Seven lines: the loss, answers to four prompts, and digests of weights and logits.
        # With two PEs, PE 1 writes some of these lines and PE 0 the others, in any order.
        answers = sorted(re.findall(r"^(?:loss|weights|logits|'|\").*", text, re.M))
        moved = "64 pages came from PE 0" in text or way == "one"
        first = first or answers
        if status or len(answers) != 7 or not moved:
            verdict = f"FAILED with status {status}"
        elif answers != first:
            verdict = "FAILED: those of the first row are others"
        else:
            verdict = "ok"
        report(name, verdict, time.monotonic() - began, text[-4000:], text)


# The status of the job, and words in its output. 137 is SIGKILL, 134 the SIGABRT of torch.
LOSSES = {
    "killed": (137, "PE 1 was killed by signal 9"),
    "context": (134, "device-side assert triggered"),
}


def loss(name: str, how: str, options: str, env: dict[str, str]) -> None:
    """A PE is lost while tensors are exchanged: the job names it and ends."""
    began = time.monotonic()
    program = [sys.executable, str(TESTS / "lost_pe.py"), how]
    status, text = run_job(options, env, program)
    want, words = LOSSES[how]
    # "goroutine " would show that the library itself has crashed.
    good = status == want and words in text and "PE 1" in text and "goroutine " not in text
    verdict = "ok" if good else f"FAILED with status {status}"
    report(name, verdict, time.monotonic() - began, text[-3000:], text)


# numba-cuda 0.30 asks numpy for a name that numpy 2.5 has dropped.
EXAMPLE = """
import runpy, sys
import numpy
if not hasattr(numpy, "row_stack"):
    numpy.row_stack = numpy.vstack
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def kernels() -> None:
    """The examples whose kernels store to the other GPU, and between two PEs on one."""
    for language in ("triton", "numba"):
        for way, options, more in (
            ("one", "-n 1", {}),
            ("direct", "-n 2", {}),
            ("shared", "-n 2", {"CUDA_VISIBLE_DEVICES": "0"}),
        ):
            name, began = f"{language}/{way}", time.monotonic()
            # On a machine with one GPU this row would be the same as the next one.
            if not wanted(name) or (way == "direct" and not several(name)):
                continue
            program = str(ROOT / "examples" / language / "exchange.py")
            status, text = run_job(options, more, [sys.executable, "-c", EXAMPLE, program])
            n = int(options.split()[1])
            good = status == 0 and text.count(f" of {n}: ") == n
            verdict = "ok" if good else f"FAILED with status {status}"
            report(name, verdict, time.monotonic() - began, text[-4000:], text)


def puts() -> None:
    """The example whose kernel puts to the next PE on any path."""
    program = str(ROOT / "examples" / "triton" / "put.py")
    for way, options, env in WAYS:
        name, began = f"put/{way}", time.monotonic()
        if not wanted(name):
            continue
        n = int(options.split()[1])
        status, text = run_job(options, env | LINKED, [sys.executable, program])
        good = status == 0 and text.count(f" of {n}: 20 turns, 0 wrong elements") == n
        verdict = "ok" if good else f"FAILED with status {status}"
        report(name, verdict, time.monotonic() - began, text[-4000:], text)


def wanted(name: str) -> bool:
    """Whether the command line selects a row."""
    return not ONLY or any(word in name for word in ONLY)


@functools.cache
def gpus() -> int:
    """The number of GPUs of the machine."""
    try:
        listed = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True)
    except OSError:
        return 0
    return sum(line.startswith("GPU") for line in listed.stdout.splitlines())


def several(name: str) -> bool:
    """Whether the machine has several GPUs for this row; if not, the row is named at the end."""
    if gpus() < 2:
        left.append(name)
    return gpus() > 1


# MPS' daemon starts its server for the first client, so only a client shows whether MPS works.
CLIENT = """
import ctypes
driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
bad = driver.cuInit(0) or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
raise SystemExit(bad != 0)
"""


def control(word: str) -> str:
    """The reply of MPS' daemon to a command; empty without a daemon."""
    argv = ["nvidia-cuda-mps-control"]
    try:
        done = subprocess.run(argv, input=f"{word}\n", capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def mps_serves() -> bool:
    """Starts MPS' daemon in the folder of the variables MPS; whether a client gets a server."""
    facts = BUILD / "cuda" / "facts"
    client = [str(facts)] if facts.exists() else [sys.executable, "-c", CLIENT]
    # The daemon keeps its standard streams open.
    nothing = subprocess.DEVNULL
    try:
        for argv in (["nvidia-cuda-mps-control", "-d"], client):
            subprocess.run(
                argv, stdin=nothing, stdout=nothing, stderr=nothing, timeout=60, check=True
            )
    except (OSError, subprocess.SubprocessError):
        return False
    return control("get_server_list") != ""


def end_mps() -> None:
    """Ends the daemon that the variables name, and makes programs run without it."""
    if MPS[0] in os.environ:
        control("quit")
    for name in MPS:
        os.environ.pop(name, None)


@contextmanager
def one_gpu() -> Iterator[None]:
    """Lets PEs share the GPU by an MPS of this program alone, if MPS starts, and ends it then."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as pipe:
        os.environ.update(dict.fromkeys(MPS, pipe))
        try:
            if mps_serves():
                say("== one GPU, shared by MPS")
            else:
                say("== one GPU, whose PEs take turns of 2.4 ms: MPS does not start")
                end_mps()
            yield
        finally:
            end_mps()


def main() -> int:
    if not SHMEMRUN.exists():
        sys.exit(f"gpu_machine: find {SHMEMRUN}: it is not there (make gpu-test)")
    began = time.monotonic()
    results.write_text("")
    # The jobs on CPUs run beside the others, which need little of the processors, and so do the
    # drafts, which spend most of their time in torch's compiler.
    sharing = one_gpu() if gpus() == 1 else nullcontext()
    with sharing, ThreadPoolExecutor(1) as drafts, ThreadPoolExecutor(2) as beside:
        begun = [
            pool.submit(tests, *row)
            for pool, rows in ((beside, ON_CPU), (drafts, DRAFTS))
            for row in rows
            if wanted(row[0])
        ]
        for how in LOSSES:
            for way, options, env in COPIED[1:]:
                if wanted(name := f"lost/{how}-{way}"):
                    begun.append(beside.submit(loss, name, how, options, env))
        for row in ON_GPU:
            if wanted(row[0]):
                tests(*row)
        example()
        kernels()
        puts()
        for row_run in begun:
            row_run.result()  # raises what the row has raised, which has no verdict then
    if left:
        say(f"left for several GPUs: {' '.join(left)}")
    failed = verdicts.count(False)
    print(f"{len(verdicts) - failed} passed, {failed} failed, {time.monotonic() - began:.0f} s")
    return 0 if verdicts and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
