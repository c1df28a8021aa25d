"""Tensors of torch and arrays of cupy and numba on the heap."""

import gc

import cupy
import numpy as np
import pytest
import torch
from numba import cuda as numba_cuda

import shmem

TYPES = [
    torch.uint8,
    torch.bool,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
]


def pattern(nbytes, pe):
    """Bytes that differ from PE to PE and are valid as bool."""
    return torch.arange(nbytes, device="cuda").add_(pe).remainder_(2).to(torch.uint8)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_types(dtype, me, right, left, gpu):
    a = shmem.zeros((4, 8), dtype, device="cuda")
    b = shmem.zeros((4, 8), dtype, device="cuda")
    assert type(a) is torch.Tensor and a.dtype is dtype and a.shape == (4, 8)
    assert a.device == torch.device("cuda", gpu) and not a.view(torch.uint8).any()
    nbytes = a.numel() * a.element_size()
    a.reshape(-1).view(torch.uint8).copy_(pattern(nbytes, me))
    torch.cuda.synchronize()
    shmem.barrier_all()
    shmem.put(b, a, pe=right)
    shmem.barrier_all()
    assert torch.equal(b.reshape(-1).view(torch.uint8), pattern(nbytes, left))
    shmem.barrier_all()
    shmem.put(b[1:3], a[2:4], pe=right)
    shmem.get(b[0], a[3], pe=left)
    shmem.barrier_all()
    assert torch.equal(b[0].view(torch.uint8), pattern(nbytes, left)[3 * nbytes // 4 :])


def test_no_elements(me, right):
    """torch and cupy give such arrays no address."""
    a = shmem.zeros(8, torch.float32, device="cuda")
    for empty in (a[:0], torch.zeros((0, 3), device="cuda"), cupy.zeros(0, "float32")):
        for stream in (None, "current"):
            mine = a[8:].reshape(tuple(empty.shape))
            shmem.put(mine, empty, pe=right, stream=stream)
            shmem.get(empty, mine, pe=right, stream=stream)
    torch.cuda.synchronize()
    assert not a.any()


def test_operations(me, n, right, left, host):
    a = shmem.full(64, me, torch.int64, device="cuda")
    shmem.barrier_all()
    shmem.p(a, 100 + me, pe=right, index=3)
    shmem.barrier_all()
    assert int(a[3]) == 100 + left == shmem.g(a, pe=me, index=3)
    assert shmem.g(a, pe=right, index=3) == 100 + me
    shmem.barrier_all()
    for pe in range(n):
        shmem.atomic_add(a, 10 ** (me % 4), pe=pe, index=5)
        shmem.atomic_fetch_inc(a, pe=pe, index=6)
    shmem.barrier_all()
    assert int(a[5]) == me + sum(10 ** (pe % 4) for pe in range(n)) and int(a[6]) == me + n
    shmem.barrier_all()
    if me == 0:
        assert shmem.atomic_compare_swap(a, n - 1, -7, pe=n - 1, index=9) == n - 1
    shmem.barrier_all()
    assert int(a[9]) == (-7 if me == n - 1 else me)
    sums, ones = shmem.zeros(64, "int64", device="cuda"), shmem.full(64, 1 + me, device="cuda")
    shmem.sum_reduce(sums, ones)
    torch.cuda.synchronize()
    assert (host(sums) == n * (n + 1) // 2).all()
    shmem.barrier_all()  # a PE that is ahead may write to the memory that is read here
    shmem.max_reduce(sums, ones)
    assert (host(sums) == n).all()


def test_strides(me, right, left):
    a = shmem.zeros((6, 8), torch.float32, device="cuda")
    column = torch.arange(6, dtype=torch.float32, device="cuda") + me
    wide = torch.full((3, 8), float(me), device="cuda")
    torch.cuda.synchronize()
    shmem.put(a[:, 2], column, pe=right)
    shmem.put(a[1::2, 4:], wide[:, ::2], pe=right)
    shmem.barrier_all()
    assert a[:, 2].tolist() == [i + left for i in range(6)]
    assert bool((a[1::2, 4:] == left).all()) and not bool(a[::2, 4:].any())
    got = torch.zeros(6, device="cuda")
    torch.cuda.synchronize()
    shmem.get(got, a[:, 2], pe=right)
    assert got.tolist() == [i + me for i in range(6)]


def test_without_a_copy(me, gpu):
    """A package that takes a DeviceArray has the same memory, by both protocols."""
    a = shmem.full((4, 6), me + 1, "float32", device="gpu")
    at = a.__cuda_array_interface__["data"][0]
    takes = {
        "torch, the interface": lambda x: torch.as_tensor(x, device=f"cuda:{gpu}"),
        "torch, DLPack": torch.from_dlpack,
        "cupy, the interface": cupy.asarray,
        "cupy, DLPack": cupy.from_dlpack,
        "numba": numba_cuda.as_cuda_array,
    }
    for way, take in takes.items():
        whole, part = take(a), take(a[1:, ::2])
        data = getattr(whole, "__cuda_array_interface__", None)
        assert data is not None and data["data"][0] == at, way
        assert tuple(part.shape) == (3, 3), way
        assert part.__cuda_array_interface__["data"][0] == at + 24, way
        del whole, part, data


def test_they_write_it(me, right):
    a = shmem.zeros(8, "int64", device="gpu")
    torch.from_dlpack(a).fill_(me)
    torch.cuda.synchronize()
    cupy.from_dlpack(a)[4:] = me + 50
    cupy.cuda.runtime.deviceSynchronize()
    got = np.zeros(8, "int64")
    shmem.barrier_all()
    shmem.get(got, a, pe=right)
    assert got.tolist() == [right] * 4 + [right + 50] * 4


def test_cupy(me, right, left):
    a = shmem.zeros((3, 4), "float32", device="cupy")
    b = shmem.zeros((3, 4), "float32", device="cupy")
    assert type(a) is cupy.ndarray and a.dtype == "float32" and a.shape == (3, 4)
    a[...] = me + 1
    cupy.cuda.runtime.deviceSynchronize()
    shmem.put(b, a, pe=right)
    shmem.barrier_all()
    assert cupy.asnumpy(b).tolist() == [[left + 1] * 4] * 3
    shmem.barrier_all()
    local = cupy.full(4, me + 7, "float32")  # of cupy's own memory
    cupy.cuda.runtime.deviceSynchronize()
    shmem.put(b[1], local, pe=right)
    shmem.barrier_all()
    assert cupy.asnumpy(b)[1].tolist() == [left + 7] * 4
    shmem.get(local, a[2], pe=right)
    assert cupy.asnumpy(local).tolist() == [right + 1] * 4


def test_words(me, right, left):
    """A signal after which a kernel of torch runs, and a word that one of torch writes."""
    data, flags = shmem.zeros(16, "int64", device="cuda"), shmem.zeros(4, "uint64", device="cuda")
    shmem.put_signal(data, [me] * 16, flags, 3, pe=right)
    assert shmem.signal_wait_until(flags, "==", 3) == 3
    assert data.tolist() == [left] * 16
    word = shmem.zeros(1, "int64", device="cuda")
    word.fill_(4)
    shmem.wait_until(word, "==", 4)
    assert shmem.test(word, ">", 3)


def test_memory_goes_back(me):
    gc.collect()
    shmem.reclaim()
    a = shmem.zeros(1 << 20, torch.float32, device="cuda")
    view = a[10:20].reshape(2, 5)
    del a
    gc.collect()
    assert shmem.reclaim() == 0
    del view
    gc.collect()
    assert shmem.reclaim() == 4 << 20
    b = torch.from_dlpack(shmem.zeros(1 << 20, "int64", device="gpu"))
    gc.collect()
    assert shmem.reclaim() == 0
    del b
    gc.collect()
    assert shmem.reclaim() == 8 << 20
    for _ in range(50):  # 8 MiB each, of 256: there is room only if they are returned
        shmem.zeros(1 << 20, torch.float64, device="cuda").fill_(me)
        torch.cuda.synchronize()  # memory that is written has not been returned
