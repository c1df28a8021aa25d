"""Streams of CUDA: the argument `stream=`, and the operands that allow one.

A stream is a number that the program has from torch, cupy, numba or the driver.
"""

from __future__ import annotations

import sys
from typing import Any

from shmem._cuda import device_of_stream
from shmem._errors import DeviceError
from shmem._gpu import heap_gpu, is_elsewhere
from shmem._protocols import StreamLike
from shmem._runtime import state


def _check_device(call: str, stream: StreamLike, number: int) -> None:
    """Refuses a stream whose GPU, of this number, is not the heap's."""
    if is_elsewhere(number):
        raise DeviceError(
            call,
            f"stream {hex(stream) if isinstance(stream, int) else repr(stream)}",
            f"it is of GPU {number}, and this PE's heap on GPU {heap_gpu()}",
            "pass a stream of that GPU",
        )


def _names_gpu(call: str, stream: StreamLike) -> bool:
    """Whether a stream object has the number of its GPU, as those of torch, cupy and cuda.core do.

    Refuses a stream of another GPU than the heap's.
    """
    number = getattr(stream, "device_index", None)  # torch's, the most common
    if number is None:
        number = getattr(stream, "device_id", None)
    if number is None:
        number = getattr(getattr(stream, "device", None), "device_id", None)
    if not isinstance(number, int) or number < 0:
        return False
    _check_device(call, stream, number)
    return True


def stream_of(
    call: str, stream: StreamLike, context: object | None = None, timeout: float | None = None
) -> int:
    """The address of a stream; an error if the heap, or context= or timeout=, forbids a stream."""
    if timeout is not None:
        raise DeviceError(
            call,
            f"timeout={timeout!r}",
            "a stream waits without a limit",
            "pass stream= or timeout=, not both",
        )
    if context is not None:
        raise DeviceError(
            call,
            "context",
            "what is done on a stream is ordered and completed by the stream",
            "pass stream= or context=, not both",
        )
    if state.heap not in ("pinned", "device"):
        raise DeviceError(
            call,
            "stream",
            "the symmetric heap is in main memory that the GPU does not reach",
            "set SHMEM_HEAP=pinned, on a machine with a GPU",
        )
    if state.loaded is not None and state.loaded.lacks:
        raise DeviceError(
            call,
            "stream",
            f"{state.loaded.lacks} is not there, which has the kernels of calls on streams",
            "build the library with KERNELS=yes, or install it by make install",
        )
    if isinstance(stream, str):
        return _current(call, stream)
    # If the object does not name its GPU, the driver does. A default stream, which has the same
    # number on each GPU, needs no check.
    is_checked = not isinstance(stream, int) and _names_gpu(call, stream)
    address = _address(call, stream)
    number = None if is_checked else device_of_stream(address)
    if number is not None:
        _check_device(call, stream, number)
    return address


def _current(call: str, stream: str) -> int:
    """torch's current stream of the heap's GPU."""
    if stream != "current":
        raise _no_stream(call, stream)
    torch = sys.modules.get("torch")
    if torch is None:
        raise DeviceError(call, "stream", "torch is not loaded", "import torch, or pass a stream")
    gpu = heap_gpu() or 0
    # The function that torch's compiler calls, too: to make a torch.cuda.Stream takes 2 us.
    raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    return int(torch.cuda.current_stream(gpu).cuda_stream if raw is None else raw(gpu))


def _address(call: str, stream: Any) -> int:
    """The CUstream of a stream, as a number."""
    if isinstance(stream, int) and not isinstance(stream, bool) and 0 <= stream < 1 << 64:
        return stream  # True would be taken as the number of a default stream
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr", "handle"):  # torch, cupy, cuda.core and numba
        address = getattr(stream, name, None)
        if address is not None:
            return int(getattr(address, "value", address) or 0)
    raise _no_stream(call, stream)


def _no_stream(call: str, stream: object) -> DeviceError:
    """The error for an argument stream= that is not a stream."""
    return DeviceError(
        call,
        f"stream {stream!r}",
        "it is not a stream",
        "pass an int, 'current', or an object that has __cuda_stream__",
    )
