"""The shared setup of tests that run as PEs: one job for all of them.

Every PE runs the same tests in the same order, so that all make the same collective calls. A PE
whose test fails ends at once: other PEs may wait for it in a collective, and the launcher then ends
them. SHMEM_HEAP selects the heap.
"""

import gc
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import shmem

__all__ = [
    "gpu",
    "job",
    "left",
    "me",
    "n",
    "pytest_collection_modifyitems",
    "pytest_runtest_logreport",
    "pytest_terminal_summary",
    "right",
    "together",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out the tests that WITHOUT names, one in a line: a test's id, or FILE::FUNCTION."""
    without = set(os.environ.get("WITHOUT", "").splitlines())
    items[:] = [
        i for i in items if not {i.nodeid, f"{i.path.name}::{i.name.partition('[')[0]}"} & without
    ]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Ends this PE at once after a failure."""
    if report.failed:
        print(f"\n{report.nodeid}: {report.when} failed\n{report.longreprtext}", flush=True)
        os._exit(1)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the counts for gpu_machine.py. A PE with a failure has ended before this line."""
    passed, skipped = (len(terminalreporter.stats.get(k, ())) for k in ("passed", "skipped"))
    print(f"{passed} passed, 0 failed, {skipped} skipped", flush=True)


size = "64m"  # of the symmetric heap; a conftest may set another size before the job begins


@pytest.fixture(scope="session", autouse=True)
def job() -> Iterator[None]:
    # The objects of pytest and numpy live until the end. Garbage collections of tests would visit
    # all of them each time, which took most of the time of this job; frozen ones are not visited.
    gc.collect()
    gc.freeze()
    shmem.init(symmetric_size=size)
    yield
    shmem.finalize()


@pytest.fixture(autouse=True)
def together() -> Iterator[None]:
    """No PE is in the next test while another is in this one."""
    yield
    shmem.barrier_all()


@pytest.fixture(scope="session")
def gpu(job: None) -> int:
    """The number of the GPU that has this PE's heap."""
    number = shmem.zeros(1, "int64", device="gpu").__dlpack_device__()[1]
    # The tests begin with a heap that does not have this array.
    gc.collect()
    shmem.reclaim()
    return number


def host(array: Any, pe: int | None = None) -> np.ndarray[Any, Any]:
    """The values of an array in GPU memory: of this PE's array, or of the same array of PE pe."""
    out = np.empty(array.shape, array.dtype)
    if out.size:
        shmem.get(out, array, pe=shmem.my_pe() if pe is None else pe)
    return out


@pytest.fixture
def me() -> int:
    return shmem.my_pe()


@pytest.fixture
def n() -> int:
    return shmem.n_pes()


@pytest.fixture
def right(me: int, n: int) -> int:
    return (me + 1) % n


@pytest.fixture
def left(me: int, n: int) -> int:
    return (me - 1) % n
