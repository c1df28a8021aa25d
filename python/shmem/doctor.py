"""`python -m shmem.doctor`: what is installed, what is missing, and the remedies.

Each line begins with ok, no or -. no is a fault, with the remedy; - is something missing that only
some jobs need. The status is 1 if there is a fault. The lines about Python and the library come
from this module, the others from the program shmem-doctor.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from shmem import _abi, _library
from shmem._errors import ShmemError

_OK, _NO, _MORE = "ok", "no", "-"

# The beginnings of the variables that shmemrun sets for the PEs of a job.
_LAUNCHER = ("SHMEM_LAUNCHER_",)

# The program of the job of one PE. A DeviceError means that SHMEM_HEAP=device is set.
_JOB = """
import shmem
shmem.init()
try:
    a = shmem.zeros(1, int)
except shmem.DeviceError:
    a = shmem.zeros(1, device="gpu")
shmem.put(a, [1], pe=shmem.my_pe())
shmem.barrier_all()
assert shmem.g(a, pe=shmem.my_pe()) == 1
shmem.finalize()
"""


@dataclass
class Finding:
    """One line of the report."""

    verdict: str
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        """One line: the verdict, the object, and the remedy."""
        return f"{self.verdict:3} {self.what}" + (f" ({self.remedy})" if self.remedy else "")


def _python() -> Iterator[Finding]:
    """The lines about Python, its packages and the machine."""
    yield Finding(_OK, f"Python {platform.python_version()}, package shmem {_abi.VERSION}")
    try:
        yield Finding(_OK, f"numpy {metadata.version('numpy')}")
    except metadata.PackageNotFoundError:
        yield Finding(_NO, "numpy is not installed", "pip install numpy, which the package needs")
    for name, use in (("torch", "tensors"), ("cupy", "arrays"), ("ml_dtypes", "bfloat16 and fp8")):
        if _library.installed(name):
            yield Finding(_OK, f"{name} is installed")
        else:
            yield Finding(_MORE, f"{name} is not installed", f"pip install {name}, for its {use}")
    machine = platform.machine()
    if sys.platform != "linux" or machine not in ("x86_64", "aarch64"):
        yield Finding(_NO, f"this is {sys.platform} on {machine}", "use Linux on x86-64")
    elif machine == "aarch64":
        yield Finding(_MORE, "aarch64 is a preview", "report what fails")


def _libraries() -> Iterator[Finding]:
    """The lines about libshmem.so, and about a job with it if it can be loaded."""
    path = _library.find()
    try:
        loaded = _library.Loaded(path)
    except ShmemError as error:
        yield Finding(_NO, f"{error.subject}: {error.cause}", error.remedy)
        return
    yield Finding(_OK, f"{path}, {loaded.name}")
    yield from _job()


def _alone() -> dict[str, str]:
    """The environment, without the variables that make this process a PE of a job of shmemrun."""
    return {k: v for k, v in os.environ.items() if not k.startswith(_LAUNCHER)}


def _job() -> Iterator[Finding]:
    """The line about a job of one PE, in a process of its own: its errors do not end this one."""
    package = str(Path(__file__).resolve().parent.parent)
    variables = _alone()
    # If a launcher such as Slurm has started this process, the job of one PE is not the launcher's.
    variables["SHMEM_BOOTSTRAP"] = "singleton"
    variables["PYTHONPATH"] = os.pathsep.join([package, *filter(None, sys.path)])
    try:
        done = subprocess.run(
            [sys.executable, "-c", _JOB],
            env=variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        yield Finding(_NO, "a job of one PE does not end", "run it with SHMEM_LOG_LEVEL=debug")
        return
    if done.returncode == 0:
        yield Finding(_OK, "a job of one PE")
        return
    lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
    said = next((line for line in lines if line.startswith("shmem: ")), lines[-1])
    yield Finding(_NO, f"a job of one PE fails: {said}", "do as the line says")


def findings() -> Iterator[Finding]:
    """The lines about Python and the library, in order."""
    yield from _python()
    yield from _libraries()


_MISSING = Finding(_NO, "shmem-doctor is missing", "install the complete library")
_WORDS = {_OK: "ok", _MORE: "lack", _NO: "fault"}  # as shmem-doctor --json has them


def _report(tool: Path | None) -> dict[str, Any]:
    """The object of shmem-doctor --json, with the findings about Python in it."""
    out: dict[str, Any] = {"version": _abi.VERSION, "verdict": "ok", "hosts": [], "between": []}
    python = list(findings())
    if tool is None:
        python.append(_MISSING)
    else:
        argv = [str(tool), "--json"]
        done = subprocess.run(argv, env=_alone(), stdout=subprocess.PIPE, check=False)
        out = json.loads(done.stdout)
    out["python"] = [
        {"verdict": _WORDS[f.verdict], "text": f.what, "remedy": f.remedy} for f in python
    ]
    verdicts = [out["verdict"], *(f["verdict"] for f in out["python"])]
    out["verdict"] = max(verdicts, key=["ok", "lack", "fault"].index)
    return out


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the findings; returns 1 if there is a fault."""
    parser = argparse.ArgumentParser(
        prog="python -m shmem.doctor", description="Say what is installed, and what is missing."
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, for programs")
    parser.add_argument(
        "--version", action="version", version=_abi.VERSION, help="print the version alone"
    )
    tool = _library.command("shmem-doctor")
    if parser.parse_args(argv).json:
        report = _report(tool)
        print(json.dumps(report, indent=2))
        return int(report["verdict"] == "fault")
    status = 0
    for finding in findings():
        print(finding, flush=True)
        status |= finding.verdict == _NO
    if tool is None:
        print(_MISSING, flush=True)
        return 1
    return status | (subprocess.run([tool], env=_alone(), check=False).returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
