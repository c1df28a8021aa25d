"""Kernels of CuTe, which cute_kernels.py has compiled elsewhere, in CUDA libraries."""

import ctypes

import functions as nv
import pytest
import torch
from launch import BUILD

import shmem

CARRIED = BUILD / "cute"
if not (CARRIED / "exchange.cubin").exists():
    pytest.skip(f"{CARRIED} has no kernels (cute_kernels.py)", allow_module_level=True)

driver = ctypes.CDLL("libcuda.so.1")


class Kernel:
    """A kernel of a library that the driver loads, with the state of the job."""

    def __init__(self, name):
        self.library, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        image = (CARRIED / f"{name}.cubin").read_bytes()
        entry = (CARRIED / f"{name}.name").read_bytes()
        none = ctypes.c_void_p()
        load = driver.cuLibraryLoadData
        assert load(ctypes.byref(self.library), image, none, none, 0, none, none, 0) == 0
        assert driver.cuLibraryGetKernel(ctypes.byref(self.function), self.library, entry) == 0
        assert nv.host().nvshmemx_culibrary_init(self.library) == 0

    def __call__(self, threads, *arguments):
        pointers = [ctypes.cast(ctypes.byref(a), ctypes.c_void_p) for a in arguments]
        array = (ctypes.c_void_p * len(pointers))(*pointers)
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        sizes = [ctypes.c_uint(x) for x in (1, 1, 1, threads, 1, 1, 0)]
        assert driver.cuLaunchKernel(self.function, *sizes, stream, array, None) == 0
        torch.cuda.synchronize()

    def close(self):
        assert nv.host().nvshmemx_culibrary_finalize(self.library) == 0
        assert driver.cuLibraryUnload(self.library) == 0


def address(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


def test_exchange(me, left, right):
    """The kernel puts source to the right, adds 1 to word there, and waits for its own word."""
    n = 5000
    source = torch.arange(n, dtype=torch.float32, device="cuda") + 1000 * me
    there = shmem.zeros(n, torch.float32, device="cuda")
    word = shmem.zeros(1, torch.int64, device="cuda")
    torch.cuda.synchronize()
    kernel = Kernel("exchange")
    numbers = ctypes.c_uint64(n), ctypes.c_int(right)
    kernel(128, address(there), address(source), address(word), *numbers)
    assert torch.equal(there, source + 1000 * (left - me)) and word.item() == 1
    kernel.close()


def test_halves(right):
    """The kernel writes 1.5 to the PE on the right, reads it back, writes the double, and syncs."""
    there, doubled = (shmem.zeros(1, torch.float16, device="cuda") for _ in range(2))
    kernel = Kernel("halves")
    kernel(32, address(there), address(doubled), ctypes.c_int(right))
    assert there.item() == 1.5 and doubled.item() == 3
    kernel.close()
