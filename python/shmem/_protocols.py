"""The types of operands: objects that have memory, and numbers.

An operand need not be numpy's. These protocols name the methods by which the package finds the
memory of an object of another package.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, SupportsFloat, SupportsIndex

import numpy as np


class ArrayInterface(Protocol):
    """An array in main memory, as numpy describes it."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


class CudaArrayInterface(Protocol):
    """An array in GPU memory, as numba, torch and cupy describe it."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


class DLPack(Protocol):
    """A tensor that other packages can import by DLPack."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...


class Buffer(Protocol):
    """An object with Python's buffer protocol, such as bytearray."""

    def __buffer__(self, flags: int, /) -> memoryview: ...


class HasStream(Protocol):
    """The protocol of CUDA's packages for streams."""

    def __cuda_stream__(self) -> tuple[int, int]: ...


class TorchStream(Protocol):
    """A stream of torch."""

    @property
    def cuda_stream(self) -> int: ...


class CupyStream(Protocol):
    """A stream of cupy."""

    @property
    def ptr(self) -> int: ...


class HandleStream(Protocol):
    """A stream of numba or cuda.core."""

    @property
    def handle(self) -> Any: ...


# An object whose memory an operation reads or writes in place.
Memory = ArrayInterface | CudaArrayInterface | DLPack | Buffer
# One number. Of numpy's numbers, those with a fraction are SupportsFloat.
Number = SupportsIndex | SupportsFloat | complex | np.generic
# What an operation reads: memory, or numbers that become an array.
Source = Memory | Number | list[Any] | tuple[Any, ...]
# An address, torch's current stream, or an object that has one.
StreamLike = int | Literal["current"] | HasStream | TorchStream | CupyStream | HandleStream
