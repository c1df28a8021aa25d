"""Tensors in symmetric memory: their properties, and their lifetime."""

import gc

import pytest
import torch

import shmem
import shmem.torch as st
from shmem import _blocks

DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.bool]
DTYPES += [getattr(torch, n) for n in ("float8_e4m3fn", "float8_e5m2") if hasattr(torch, n)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_made_as_asked(dtype, device, right, left, me):
    a, b = st.zeros((3, 5), dtype), st.empty(7, dtype)
    assert (a.shape, a.dtype, a.device) == ((3, 5), dtype, device)
    assert (b.shape, b.dtype, b.device) == ((7,), dtype, device)
    assert not a.view(torch.uint8).any()
    shmem.barrier_all()
    sent = torch.full((3, 5), me + 1, device=device).to(dtype)
    st.put(a, sent, right)
    st.barrier_all()
    assert torch.equal(a.float(), torch.full((3, 5), left + 1, device=device).to(dtype).float())
    assert torch.equal(st.get(a, right).float(), torch.full_like(a, me + 1).float())


def test_shapes_and_defaults(device):
    assert st.empty(()).shape == () and st.empty((0, 4)).shape == (0, 4)
    assert st.zeros(3).dtype is torch.get_default_dtype()
    filled = st.full((2, 3), 7, torch.int32)
    assert filled.tolist() == [[7] * 3] * 2
    before = len(_blocks.heap.slots)
    for value in (None, "7", 300, [1, 2], 1.5):
        with pytest.raises(shmem.DtypeError, match=r"torch\.full.* not of torch\.uint8"):
            st.full(3, value, torch.uint8)
    assert len(_blocks.heap.slots) == before
    for bad in ("float32", int):
        with pytest.raises(shmem.DtypeError, match=r"torch\.zeros .* is none of torch's"):
            st.zeros(3, bad)
    with pytest.raises(shmem.SizeError, match="is not a shape"):
        st.zeros(-1)
    with pytest.raises(shmem.HeapError, match="SHMEM_SYMMETRIC_SIZE"):
        st.empty(1 << 40, torch.uint8)


def test_a_view_keeps_the_memory():
    gc.collect()
    shmem.reclaim()
    before = len(_blocks.heap.slots)
    a = st.zeros(1000)
    view = a[500:].view(torch.int32)
    del a
    gc.collect()
    assert shmem.reclaim() == 0 and len(_blocks.heap.slots) == before + 1
    del view
    gc.collect()
    assert shmem.reclaim() == 4000 and len(_blocks.heap.slots) == before


def test_the_same_tensor_of_a_peer(me, n, right, left):
    a = st.full((2, 4), me)
    shmem.barrier_all()
    for pe in (me, right):
        there = st.ptr(a[1:], pe)
        if there is None:
            continue  # a PE of another host
        assert there.shape == (1, 4) and (there == pe).all()
        assert (st.ptr(a, pe).data_ptr() == a.data_ptr()) == (pe == me)
    shmem.barrier_all()
    if (there := st.ptr(a, right)) is not None:
        there[0, 0] = 50 + me
        if there.is_cuda:
            torch.cuda.synchronize()
    shmem.barrier_all()
    if st.ptr(a, left) is not None:
        assert a[0, 0] == 50 + left


def test_the_package_takes_tensors(me, right, left, device):
    """The functions of `shmem` itself, which are primarily for numpy."""
    stream = {"stream": "current"} if device.type == "cuda" else {}
    a = st.zeros(8, torch.bfloat16)
    part = torch.full((4,), me + 1, dtype=torch.bfloat16, device=device)
    if stream:  # a call without a stream reads memory as it is
        torch.cuda.current_stream().synchronize()
    shmem.put(a[2:6], part, pe=right)
    shmem.barrier_all()
    assert a.tolist() == [0, 0, *[left + 1] * 4, 0, 0]
    got = torch.zeros(8, dtype=torch.bfloat16, device=device)
    shmem.get(got, a, pe=right, **stream)
    shmem.quiet(**stream)
    if stream:  # else copying for tolist keeps the driver from the proxy's copies
        torch.cuda.current_stream().synchronize()
    assert got.tolist() == [0, 0, *[me + 1] * 4, 0, 0]
    with pytest.raises(shmem.DtypeError, match=r"convert it"):
        shmem.put(a, torch.zeros(8, device=device), pe=right)
    with pytest.raises((shmem.SymmetryError, shmem.DeviceError), match=r"shmem\.empty"):
        shmem.put(got, a, pe=right)


def test_made_of_values(device, me, right):
    assert st.ones((2, 3)).tolist() == [[1.0] * 3] * 2 and st.ones(2, torch.int8).device == device
    a = st.array([me, me + 1])
    assert a.dtype is torch.int64 and st.array([[1.5]], torch.float16).tolist() == [[1.5]]
    shmem.barrier_all()
    assert st.get(a, right).tolist() == [right, right + 1]
    assert torch.equal(st.zeros_like(a), torch.zeros(2, dtype=torch.int64, device=device))
    assert st.zeros_like(a, torch.float32).dtype is torch.float32
