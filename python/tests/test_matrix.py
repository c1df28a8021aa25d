"""The tests in pes, as jobs: alone, on a node, over two simulated hosts, with chaos."""

import sys

import pytest
from launch import ROOT, SHMEMRUN, full, python, run

JOBS = [
    "-n 1",
    "-n 3 --hosts 2,1",
    *full("python", "-n 2", "-n 4", "-n 2 --hosts 2", "-n 4 --hosts 3,1"),
    *full("python", "-n 2 --chaos 1", "-n 2 --chaos 2"),
]


def as_pes(options: list[str], *arguments: str) -> None:
    tests = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
    done = run(*options, *tests, "-c", "python/pyproject.toml", *arguments)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]


@pytest.mark.parametrize("job", JOBS)
def test_job(job: str) -> None:
    as_pes([str(SHMEMRUN), "--timeout", "240", *job.split(), "--"], str(ROOT / "python/tests/pes"))


def test_without_a_launcher() -> None:
    """One PE, as a program that is started without a launcher."""
    as_pes([], str(ROOT / "python/tests/pes/test_rma.py"))


def test_a_failure_is_seen() -> None:
    """A test that fails in a PE fails the job, and does not hang it."""
    program = "import shmem; shmem.init(); assert shmem.my_pe() == 0; shmem.barrier_all()"
    done = run(str(SHMEMRUN), "-n", "2", "--timeout", "60", "--", sys.executable, "-c", program)
    assert done.returncode == 1 and "AssertionError" in done.stderr
    assert python(program.replace("== 0", "== 1")).returncode == 1
