"""Streams of CUDA: what `stream=` takes, and where one can be used.

A stream is a number that the program has from torch, cupy, numba or the driver.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol

from shmem._cuda import device_of_stream
from shmem._device import heap_gpu, is_elsewhere
from shmem._errors import DeviceError
from shmem._runtime import state


class HasStream(Protocol):
    """The protocol of CUDA's packages for streams."""

    def __cuda_stream__(self) -> tuple[int, int]: ...


# An address, "current" for torch's current stream, or an object that has one.
StreamLike = int | str | HasStream | Any


def _check_device(call: str, stream: StreamLike, number: int) -> None:
    if is_elsewhere(number):
        raise DeviceError(
            call,
            f"stream {hex(stream) if isinstance(stream, int) else repr(stream)}",
            f"it is of GPU {number}, and this PE's heap on GPU {heap_gpu()}",
            "pass a stream of that GPU",
        )


def _check_said(call: str, stream: StreamLike) -> None:
    """Refuses a stream that says that it is another GPU's: torch's, cupy's, cuda.core's."""
    device = getattr(stream, "device", None)
    for of, name in ((stream, "device_index"), (stream, "device_id"), (device, "device_id")):
        number = getattr(of, name, None)
        if isinstance(number, int) and number >= 0:
            _check_device(call, stream, number)


def stream_of(call: str, stream: StreamLike, context: object | None = None) -> int:
    """The address of a stream, where operations on one are possible."""
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
    # A default stream has the same address on each GPU; of any other one the driver knows.
    if not isinstance(stream, int):
        _check_said(call, stream)
    address = _address(call, stream)
    number = device_of_stream(address)
    if number is not None:
        _check_device(call, stream, number)
    return address


def _address(call: str, stream: StreamLike) -> int:
    if isinstance(stream, int):
        return stream
    if isinstance(stream, str) and stream == "current":
        torch = sys.modules.get("torch")
        if torch is None:
            raise DeviceError(
                call, "stream", "torch is not loaded", "import torch, or pass a stream"
            )
        return int(torch.cuda.current_stream(heap_gpu()).cuda_stream)
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr", "handle"):  # torch, cupy, cuda.core and numba
        address = getattr(stream, name, None)
        if address is not None:
            return int(getattr(address, "value", address) or 0)
    raise DeviceError(
        call,
        f"stream {stream!r}",
        "it is no stream",
        "pass an int, 'current', or an object that has __cuda_stream__",
    )
