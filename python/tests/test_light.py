"""The commands of the package do not wait for numpy, and the doctor says when it is missing."""

import subprocess
import sys

import pytest
from launch import ROOT

# What Python runs, as its arguments.
LIGHT = {
    "the package": ["-c", "import shmem"],
    "a command of the wheel": ["-c", "from shmem._commands import main"],
    "the doctor": ["-m", "shmem.doctor", "--help"],
    "perf": ["-c", "from shmem.perf import main"],
}


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "python"), **variables}
    return subprocess.run(
        [sys.executable, *arguments], env=path, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize("what", LIGHT)
def test_numpy_is_not_imported(what: str) -> None:
    """PYTHONPATH has no numpy, so that an import of it would fail."""
    done = run("-S", "-X", "importtime", *LIGHT[what])
    assert done.returncode == 0 and "| shmem" in done.stderr, done.stderr
    assert "numpy" not in done.stderr


def test_the_doctor_without_numpy() -> None:
    done = run("-S", "-m", "shmem.doctor")
    fault = "no  numpy is not installed (pip install numpy, which the package needs)"
    assert done.returncode == 1 and fault in done.stdout.splitlines(), done.stdout + done.stderr


def test_names_are_there_at_their_first_use() -> None:
    """`from shmem import *` and dir find the names, too, and a wrong name is an error."""
    said = subprocess.run(
        [sys.executable, "-c", """
import sys
import shmem
assert "numpy" not in sys.modules
assert "put" in dir(shmem) and "numpy" in sys.modules
from shmem import *
assert put is shmem.put and Team is shmem.Team and "put" in shmem.__all__
try:
    shmem.nothing
except AttributeError as error:
    print(error)
"""], env={"PYTHONPATH": ":".join([str(ROOT / "python"), *filter(None, sys.path)])},
        capture_output=True, text=True, timeout=60)  # fmt: skip
    assert said.stdout == "module 'shmem' has no attribute 'nothing'\n", said.stderr
