"""Tensors without memory that an operation could use."""

import pytest
import torch

import shmem
import shmem.torch as st


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.bfloat16], ids=str)
def test_refused(dtype, me):
    a = st.zeros(8, dtype=dtype)
    for bad in (
        torch.zeros(8, dtype=dtype, device="meta"),
        torch.zeros(8, dtype=dtype).to_sparse(),
    ):
        with pytest.raises(shmem.DtypeError, match="no memory to use"):
            shmem.put(a, bad, pe=me)


def test_values_that_are_not_in_memory(me):
    """A conjugate, and its imaginary part, are computed when they are read."""
    a, b = st.zeros(8, dtype=torch.complex64), st.zeros(8, dtype=torch.complex64)
    c = st.zeros(8, dtype=torch.float32)
    for dest, bad in ((a, b.conj()), (c, b.conj().imag)):
        with pytest.raises(shmem.ShmemError, match="resolve_"):
            shmem.put(dest, bad, pe=me)
