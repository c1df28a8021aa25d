"""Starts programs of Python, alone and as PEs, with the package of this tree."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = (ROOT / os.environ.get("BUILD", "build")).resolve()
LIBRARY = BUILD / "lib" / "libshmem.so"
SHMEMRUN = BUILD / "bin" / "shmemrun"


def full(name: str, *what: str) -> list[str]:
    """The cases `what`, which only make test-full runs; in other runs none.

    tests/need/loads.go lists these cases under name.
    """
    assert f'"{name}":' in (ROOT / "tests/need/loads.go").read_text(), name
    return list(what) if os.environ.get("TESTS") == "full" else []


def variables(**more: str) -> dict[str, str]:
    """The environment with `more`, without the variables of the job that the caller is in.

    Tests start some hundred processes. To save time, Python keeps the compiled package for the next
    process, and numpy starts no threads. test_wheel uses the environment of a user instead.
    """
    out = {k: v for k, v in os.environ.items() if not k.startswith("SHMEM_")}
    out.pop("PYTHONDONTWRITEBYTECODE", None)
    out["OPENBLAS_NUM_THREADS"] = "1"
    path = [str(ROOT / "python"), *filter(None, sys.path)]
    # A program that is started alone has no launcher to name the library.
    libraries = ":".join(filter(None, [str(LIBRARY.parent), os.environ.get("LD_LIBRARY_PATH")]))
    return {**out, "PYTHONPATH": ":".join(path), "LD_LIBRARY_PATH": libraries, **more}


def run(*argv: str, cwd: Path = ROOT, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs a command with the environment of variables, for 300 s at most."""
    return limited(argv, variables(**more), cwd)


def limited(
    argv: Sequence[str], env: dict[str, str], cwd: Path = ROOT, limit: float = 300
) -> subprocess.CompletedProcess[str]:
    """Runs a command for `limit` seconds at most, and then ends it and all processes below it.

    A process whose parent has ended is no longer below it. All stay in the process group of the
    tests, by which tests/all ends the tests themselves.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, env=env, stdout=pipe, stderr=pipe, text=True, cwd=cwd) as process:
        try:
            out, err = process.communicate(timeout=limit)
        except BaseException:
            _end(process.pid)
            raise
    return subprocess.CompletedProcess(argv, process.returncode, out, err)


def _end(pid: int) -> None:
    """Ends a process and those below it; while it is stopped it starts no other one."""
    with contextlib.suppress(OSError):  # it has ended by itself
        os.kill(pid, signal.SIGSTOP)
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):  # the thread has ended since glob found it
                for child in children.read_text().split():
                    _end(int(child))
        os.kill(pid, signal.SIGKILL)


def python(program: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs a program alone."""
    return run(sys.executable, "-X", "faulthandler", "-c", program, **more)


def pes(n: int, program: str, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs a program as PEs. shmemrun ends the job, with a report, before run ends shmemrun."""
    argv = [str(SHMEMRUN), "-n", str(n), "--timeout", "240", *options, "--", sys.executable, "-c"]
    return run(*argv, program, **more)


def prints(program: str, **more: str) -> str:
    """The output of a program that must succeed."""
    done = python(program, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@functools.cache
def torch_python() -> str | None:
    """A Python that has torch, the one that scripts/setup looks for; None if there is none.

    Its programs get their environment from torch_variables: torch is built for one numpy, which
    need not be the one that the other tests use.
    """
    argv = [os.environ.get("TORCH_PYTHON") or "/usr/bin/python3", "-c"]
    find = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    try:
        done = subprocess.run([*argv, find], env=torch_variables(), stderr=subprocess.DEVNULL)
    except OSError:
        return None
    return argv[0] if done.returncode == 0 else None


def torch_variables(**more: str) -> dict[str, str]:
    """The environment of torch_python: the package of this tree, and its own modules."""
    return variables(PYTHONPATH=str(ROOT / "python"), **more)


def need_torch() -> str:
    """torch_python for a test that needs it."""
    python = torch_python()
    if python is None:
        lack = "no Python with torch: scripts/setup test installs it, or set TORCH_PYTHON"
        if os.environ.get("CI") == "true":
            pytest.fail(lack)
        pytest.skip(lack)
    return python


# The parts (C files of cudatest/testdata) of each fake library.
_DRIVER = {
    "libcuda.so.1": ["libcuda", "memory", "vmm", "stream", "copy", "module", "fake"],
    "libgdrapi.so.2": ["libgdrapi", "fake"],
}


def simulated_gpu(folder: Path, library: Path = LIBRARY) -> dict[str, str]:
    """The variables that give PEs a simulated GPU; its fake driver is built in the folder."""
    sources = ROOT / "runtime/gpu/cuda/cudatest/testdata"
    for name, parts in _DRIVER.items():
        files = [str(sources / f"{part}.c") for part in parts]
        gcc = ["gcc", "-shared", "-fPIC", "-O1", "-pthread", "-o", str(folder / name), *files]
        subprocess.run(gcc, check=True)
    assert BUILD.is_dir()
    return {
        "FAKE_CUDA": "works=1",  # streams do their work by themselves
        "SHMEM_HEAP": "device",
        "LD_LIBRARY_PATH": f"{library.parent}:{folder}",
    }
