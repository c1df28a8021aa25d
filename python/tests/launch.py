"""Starts programs of Python, alone and as PEs, with the package of this tree."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = (ROOT / os.environ.get("BUILD", "build")).resolve()
LIBRARY = BUILD / "lib" / "libshmem.so"
SHMEMRUN = BUILD / "bin" / "shmemrun"


def variables(**more: str) -> dict[str, str]:
    """The environment, without what the caller's own job would say."""
    out = {k: v for k, v in os.environ.items() if not k.startswith("SHMEM_")}
    path = [str(ROOT / "python"), *filter(None, sys.path)]
    # A program that is started alone has no launcher that says where the library is.
    libraries = ":".join(filter(None, [str(LIBRARY.parent), os.environ.get("LD_LIBRARY_PATH")]))
    return {**out, "PYTHONPATH": ":".join(path), "LD_LIBRARY_PATH": libraries, **more}


def run(*argv: str, cwd: Path = ROOT, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv, env=variables(**more), capture_output=True, text=True, timeout=300, cwd=cwd
    )


def python(program: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs a program alone."""
    return run(sys.executable, "-X", "faulthandler", "-c", program, **more)


def pes(n: int, program: str, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs a program as PEs."""
    argv = [str(SHMEMRUN), "-n", str(n), "--timeout", "240", *options, "--", sys.executable, "-c"]
    return run(*argv, program, **more)


def prints(program: str, **more: str) -> str:
    """The output of a program that has to end well."""
    done = python(program, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
