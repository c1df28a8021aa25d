"""One job for all tests of this folder, which need a GPU, torch, cupy and numba.

torch and cupy use the GPU of the PE's heap. The tests fail if a package is missing: gpu_machine.py
runs them on machines that have all of them.
"""

from collections.abc import Callable, Iterator

import cupy
import job as of_all
import numpy as np
import pytest
import torch
from job import *  # noqa: F403

import shmem

of_all.size = "256m"  # these tests also register memory, which takes space in the heap


@pytest.fixture(scope="session", autouse=True)
def same_gpu(gpu: int) -> None:
    torch.cuda.set_device(gpu)
    cupy.cuda.Device(gpu).use()


@pytest.fixture(autouse=True)
def nothing_under_way(same_gpu: None) -> Iterator[None]:
    """Waits for the test's kernels, so that a failure of one of them is a failure of this test."""
    yield
    torch.cuda.synchronize()


@pytest.fixture
def host() -> Callable[..., np.ndarray]:
    """The values of an array on the heap of this PE."""

    def read(array: torch.Tensor) -> np.ndarray:
        out = np.empty(array.shape, str(array.dtype).removeprefix("torch."))
        shmem.get(out, array, pe=shmem.my_pe())
        return out

    return read


@pytest.fixture
def other_gpu(gpu: int) -> int:
    """The number of a GPU without this PE's heap."""
    n = torch.cuda.device_count()
    if n < 2:
        pytest.skip("there is one GPU only")
    return (gpu + 1) % n
