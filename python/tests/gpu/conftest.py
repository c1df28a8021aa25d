"""As pes/conftest.py, with the heap in the memory of a GPU, which is played."""

import os
from collections.abc import Iterator

import pytest

import shmem


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        print(f"\n{report.nodeid}: {report.when} failed\n{report.longreprtext}", flush=True)
        os._exit(1)


@pytest.fixture(scope="session", autouse=True)
def job() -> Iterator[None]:
    shmem.init(symmetric_size="64m", heap="device")
    yield
    shmem.finalize()


@pytest.fixture(autouse=True)
def together() -> Iterator[None]:
    yield
    shmem.barrier_all()


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
