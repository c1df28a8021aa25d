"""Neighbours: PEs that loads and stores reach, and fast paths for operations on them.

A call on one element takes 0.4 us from Python into C; checking its arguments, with an error for
each mistake, takes six times as long. So common arguments have a short check of their own: a plain
array, numbers of Python, a neighbour. All others use the long path, which also raises the errors.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import addressof
from typing import Any

import numpy as np

from shmem import _blocks
from shmem._addresses import pointer_to
from shmem._dtypes import BITS
from shmem._runtime import library, state

# A quick call holds the interpreter's lock while it copies; this many bytes take 1 us.
QUICK = 8192

near = state.near
_find = _blocks.find
_ndarray = np.ndarray


def is_near(pe: int, address: int) -> bool:
    """Whether quick calls serve a PE: loads and stores reach its heap, in which address is."""
    if pe in near:
        return True
    # With SHMEM_ON_FAILURE=return a call can fail, and for other kinds of heap than "host" it uses
    # the GPU driver, for which it may wait.
    if state.survives or state.heap != "host" or library("put").shmem_ptr(address, pe) == 0:
        return False
    near.add(pe)
    return True


def near_element(array: Any, pe: Any, index: Any) -> int:
    """The address of an element of a plain symmetric array, if pe is a neighbour.

    0 for all other arguments: the caller uses the long path.
    """
    if (
        type(array) is _ndarray
        and type(pe) is int
        and pe in near
        and type(index) is int
        and 0 <= index < array.size
        and array.flags.carray  # contiguous and writable, as pointer_to needs it
    ):
        address = addressof(pointer_to(array))
        n = array.nbytes
        heap = _blocks.heap
        if heap.low <= address and address + n <= heap.high or _find(address, n) is not None:
            return address + index * array.itemsize
    return 0


class _Sizes(dict[int, ctypes.c_size_t]):
    """Numbers of bytes as untyped calls take them: objects of ctypes, made once for each number."""

    def __missing__(self, n: int) -> ctypes.c_size_t:
        return self.setdefault(n, ctypes.c_size_t(n))


sizes = _Sizes()

Form = Callable[..., Any]
Number = type[int] | type[float]

# The numbers of Python that fit a dtype without a further check: their type, the least and the
# greatest. A float32 could hold more than 65504, but near its limit numbers round to infinity.
_NUMBERS: dict[np.dtype[Any], tuple[Number, float, float]] = {
    **{d: (int, int(np.iinfo(d).min), int(np.iinfo(d).max)) for d in BITS},
    np.dtype("f4"): (float, -65504.0, 65504.0),
    np.dtype("f8"): (float, -np.inf, np.inf),
}


class Forms(dict[np.dtype[Any], tuple[Form | None, Number, float, float]]):
    """The quick calls of an operation, by dtype, each with the numbers that it takes.

    An entry is the call, Python's type of the numbers, the least and the greatest. A dtype with no
    quick call has None and an empty range, in which no number is.
    """

    def __init__(
        self, functions: Callable[[str], Any], name: str, table: dict[np.dtype[Any], str]
    ) -> None:
        self._functions = functions
        self._name = name
        self.table = table

    def __missing__(self, dtype: np.dtype[Any]) -> tuple[Form | None, Number, float, float]:
        name = self.table.get(dtype)
        if name is None:
            return None, int, 1, 0
        called = self._name.format(name)
        form: Form = getattr(self._functions(called), called)
        out = self[dtype] = (form, *_NUMBERS[dtype])
        return out
