"""Functions of libnvshmem_device.bc as kernels of Triton call them, and launches of such kernels.

Triton passes addresses as int64. Functions that return nothing are declared to return an int32,
because in Triton each has a result.
"""

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from launch import BUILD
from triton.language import core

BITCODE = Path(os.environ.get("NVSHMEM_LIB_DIR") or BUILD / "lib") / "libnvshmem_device.bc"
LIBRARIES = {"libnvshmem_device": str(BITCODE)}

SET, ADD = 9, 10  # NVSHMEM_SIGNAL_
EQ, GE = 0, 5  # NVSHMEM_CMP_

# The results that are not int32.
RESULTS = {"nvshmem_int64_atomic_fetch_add": "int64", "nvshmem_ptr": "int64"}
RESULTS |= {"nvshmem_signal_fetch": "int64", "nvshmem_half_g": "fp16", "nvshmem_bfloat16_g": "bf16"}


def extern(name: str, *types: str) -> Callable[..., Any]:
    """A function of the bitcode library with arguments of these types."""
    result = core.dtype(RESULTS.get(name, "int32"))
    signature = {tuple(core.dtype(t) for t in types): (name, result)}

    # The library's name and path are empty: launch passes them to all functions by extern_libs.
    @core.extern
    def call(*args: Any, _semantic: Any = None) -> Any:
        return core.extern_elementwise(
            "", "", list(args), signature, is_pure=False, _semantic=_semantic
        )

    return call


my_pe = extern("nvshmem_my_pe")
n_pes = extern("nvshmem_n_pes")
address = extern("nvshmem_ptr", "int64", "int32")
putmem = extern("nvshmemx_putmem_block", "int64", "int64", "int64", "int32")
putmem_nbi = extern("nvshmemx_putmem_nbi_block", "int64", "int64", "int64", "int32")
getmem = extern("nvshmemx_getmem_block", "int64", "int64", "int64", "int32")
putmem_signal = extern("nvshmemx_putmem_signal_block", *["int64"] * 4, "uint64", "int32", "int32")
signal_op = extern("nvshmemx_signal_op", "int64", "uint64", "int32", "int32")
signal_wait_until = extern("nvshmem_signal_wait_until", "int64", "int32", "uint64")
fetch_add = extern("nvshmem_int64_atomic_fetch_add", "int64", "int64", "int32")
fence = extern("nvshmem_fence")
quiet = extern("nvshmem_quiet")
barrier_all = extern("nvshmem_barrier_all")
barrier_all_block = extern("nvshmemx_barrier_all_block")
sync_all = extern("nvshmem_sync_all")
half_p = extern("nvshmem_half_p", "int64", "fp16", "int32")
half_g = extern("nvshmem_half_g", "int64", "int32")
bfloat16_p = extern("nvshmem_bfloat16_p", "int64", "bf16", "int32")
bfloat16_g = extern("nvshmem_bfloat16_g", "int64", "int32")
broadcastmem = extern("nvshmemx_broadcastmem_block", "int32", *["int64"] * 3, "int32")
alltoallmem = extern("nvshmemx_alltoallmem_block", "int32", *["int64"] * 3)
fcollectmem = extern("nvshmemx_fcollectmem_block", "int32", *["int64"] * 3)


def reduction(name: str) -> Callable[..., Any]:
    """A reduction over a team: a function for one thread, which all threads of a kernel call."""
    return extern(f"nvshmem_{name}_reduce", "int32", *["int64"] * 3)


double_sum = reduction("double_sum")
float_max = reduction("float_max")
int32_min = reduction("int32_min")
half_sum = reduction("half_sum")
bfloat16_sum = reduction("bfloat16_sum")
int64_prod = reduction("int64_prod")

_host = None
_ready: set[int] = set()


def host() -> ctypes.CDLL:
    """The library with NVSHMEM's functions for the host, from the build folder."""
    global _host
    if _host is None:
        _host = ctypes.CDLL(str(BUILD / "lib" / "libnvshmem_host.so.3"))
        _host.nvshmemx_cumodule_init.argtypes = [ctypes.c_void_p]
    return _host


def launch(kernel: Any, grid: tuple[int, ...], *args: Any, **options: Any) -> Any:
    """Launch a kernel that calls functions of the bitcode, and return the compiled kernel.

    Before its first launch the host library writes the job's state into the kernel's module.
    """
    compiled = kernel.warmup(*args, grid=grid, extern_libs=LIBRARIES, **options)
    compiled._init_handles()  # loads the module, which Triton does at the first launch otherwise
    if compiled.module not in _ready:
        assert host().nvshmemx_cumodule_init(compiled.module) == 0
        _ready.add(compiled.module)
    kernel[grid](*args, extern_libs=LIBRARIES, **options)
    return compiled
