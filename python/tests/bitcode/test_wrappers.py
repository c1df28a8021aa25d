"""Kernels of Triton that call the wrappers of torch, which knows nothing of this library.

LD_PRELOAD puts libnvshmem_host.so.3 of this library before NVIDIA's, and NVSHMEM_LIB_DIR names the
folder of its bitcode. torch finds the module of a kernel, and calls nvshmemx_cumodule_init.
"""

import os

import pytest
import torch
import triton

import shmem

nv = pytest.importorskip("torch.distributed._symmetric_memory._nvshmem_triton")
if not hasattr(nv, "requires_nvshmem"):
    pytest.skip("this torch has other wrappers", allow_module_level=True)
if "libnvshmem_host.so.3" not in os.environ.get("LD_PRELOAD", ""):
    pytest.skip("libnvshmem_host.so.3 is not preloaded", allow_module_level=True)

SIZE = 5000


@nv.requires_nvshmem
@triton.jit
def put(dest, source, n, pe):
    nv.put(dest, source, n, pe)
    nv.barrier_all()


@nv.requires_nvshmem
@triton.jit
def get(dest, source, n, pe):
    nv.barrier_all()
    nv.get(dest, source, n, pe)


@nv.requires_nvshmem
@triton.jit
def signal(dest, source, nbytes, word, value, pe):
    nv.putmem_signal_block(dest, source, nbytes, word, value, 9, pe)  # NVSHMEM_SIGNAL_SET
    nv.signal_wait_until(word, 0, value)  # NVSHMEM_CMP_EQ


@nv.requires_nvshmem
@triton.jit
def total(dest, source, n):
    nv.reduce(0, dest, source, n, "sum")


@nv.requires_nvshmem
@triton.jit
def broadcast(dest, source, n):
    nv.broadcast(0, dest, source, n, 0)


def ramp(pe):
    return torch.arange(SIZE, dtype=torch.float32, device="cuda") + 1000 * pe


def zeros(n=SIZE, dtype=torch.float32):
    return shmem.zeros(n, dtype, device="cuda")


def test_put(me, left, right):
    there, source = zeros(), ramp(me)
    put[(1,)](there, source, SIZE, right)
    torch.cuda.synchronize()
    assert torch.equal(there, ramp(left))


def test_get(me, right):
    there, here = zeros(), torch.zeros(SIZE, device="cuda")
    there.copy_(ramp(me))
    torch.cuda.synchronize()
    get[(1,)](here, there, SIZE, right)
    torch.cuda.synchronize()
    assert torch.equal(here, ramp(right))


def test_signal(me, left, right):
    there, word, source = zeros(), zeros(1, torch.int64), ramp(me)
    signal[(1,)](there, source, 4 * SIZE, word, 42, right)
    torch.cuda.synchronize()
    assert word.item() == 42 and torch.equal(there, ramp(left))


def test_reduce(me, n):
    source, dest = zeros(), zeros()
    source.copy_(ramp(me))
    torch.cuda.synchronize()
    total[(1,)](dest, source, SIZE)
    torch.cuda.synchronize()
    assert torch.equal(dest, sum(ramp(pe) for pe in range(n)))


def test_broadcast(me, n):
    source, dest = zeros(), zeros()
    source.copy_(ramp(me))
    torch.cuda.synchronize()
    broadcast[(1,)](dest, source, SIZE)
    torch.cuda.synchronize()
    assert torch.equal(dest, ramp(0))
