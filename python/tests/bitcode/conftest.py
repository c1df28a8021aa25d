"""One job for all tests of this folder, which need a GPU, torch and Triton.

The kernels are linked with libnvshmem_device.bc of the build. gpu_machine.py runs the tests on a
machine with a GPU, as jobs whose PEs reach each other by loads and stores, through the ring, and as
two hosts over tcp.
"""

from collections.abc import Iterator

import pytest
import torch
from job import *  # noqa: F403


@pytest.fixture(scope="session", autouse=True)
def same_gpu(gpu: int) -> None:
    torch.cuda.set_device(gpu)


@pytest.fixture(autouse=True)
def nothing_under_way(same_gpu: None) -> Iterator[None]:
    """Waits for the test's kernels, so that a failure of one of them is a failure of this test."""
    yield
    torch.cuda.synchronize()
