"""Queries of the CUDA driver about addresses and streams, if there is a driver.

The package calls it by ctypes, and only in jobs with a heap that a GPU reaches: there the library
has already loaded the driver.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

_TYPE, _ORDINAL = 2, 9  # CU_POINTER_ATTRIBUTE_MEMORY_TYPE, _DEVICE_ORDINAL
_NO_CONTEXT = 201
_DEFAULTS = 2  # 0, CU_STREAM_LEGACY (1) and CU_STREAM_PER_THREAD (2): each GPU has these streams


@functools.cache
def driver() -> Any:
    """The driver's library."""
    return ctypes.CDLL("libcuda.so.1")


def _ask(address: int) -> tuple[int, int, int]:
    """The driver's status, the type of memory (0: none known), and the number of its GPU."""
    kind, ordinal = ctypes.c_int(0), ctypes.c_int(0)
    which = (ctypes.c_int * 2)(_TYPE, _ORDINAL)
    into = (ctypes.c_void_p * 2)(ctypes.addressof(kind), ctypes.addressof(ordinal))
    code = driver().cuPointerGetAttributes(2, which, into, ctypes.c_uint64(address))
    return code, kind.value, ordinal.value


def _ask_in_context(address: int) -> tuple[int, int, int]:
    """What _ask returns, with GPU 0's primary context in this thread for the time of the call.

    Some drivers answer only in a thread that has a context.
    """
    cuda, context = driver(), ctypes.c_void_p()
    if cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) != 0:
        return _NO_CONTEXT, 0, 0
    cuda.cuCtxPushCurrent_v2(context)
    answer = _ask(address)
    cuda.cuCtxPopCurrent_v2(ctypes.byref(context))
    cuda.cuDevicePrimaryCtxRelease_v2(0)
    return answer


def device_of(address: int) -> int | None:
    """The number of the GPU that memory belongs to; None if the driver reports none."""
    code, kind, ordinal = _ask(address)
    if code == _NO_CONTEXT:
        code, kind, ordinal = _ask_in_context(address)
    return ordinal if code == 0 and kind != 0 else None


def device_of_stream(stream: int) -> int | None:
    """The number of the GPU of a stream; None for a default stream, which each GPU has.

    The result is not cached: the next stream may have the same address.
    """
    if stream <= _DEFAULTS:
        return None
    # cuStreamGetDevice would be one call, but exists only from CUDA 12.8 on.
    cuda, context, device = driver(), ctypes.c_void_p(), ctypes.c_int()
    if (
        cuda.cuStreamGetCtx(ctypes.c_void_p(stream), ctypes.byref(context)) != 0
        or cuda.cuCtxPushCurrent_v2(context) != 0
    ):
        return None
    code = cuda.cuCtxGetDevice(ctypes.byref(device))
    cuda.cuCtxPopCurrent_v2(ctypes.byref(context))
    return device.value if code == 0 else None
