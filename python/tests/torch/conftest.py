"""One job for all tests of this folder."""

import os

import pytest
import torch
from job import *  # noqa: F403

import shmem.torch as st


@pytest.fixture(scope="session", autouse=True)
def device(job: None) -> torch.device:
    """The device of the heap: that of a tensor in it."""
    on_gpu = os.environ.get("SHMEM_HEAP") == "device"
    out = st.zeros(1).device
    assert out.type == ("cuda" if on_gpu else "cpu")
    if on_gpu:
        torch.cuda.set_device(out)
    return out
