"""The operands of put and get: contiguous arrays, tensors of GPUs, and slices with gaps."""

from __future__ import annotations

from typing import Any

import numpy as np

from shmem import _blocks, _strided
from shmem._addresses import address_of, check_span, refuse_address
from shmem._dtypes import Array
from shmem._errors import LayoutError
from shmem._ghosts import of_cpu
from shmem._operands import (
    as_array,
    as_source,
    check_dtype,
    check_shapes,
    fitted,
    not_contiguous,
    symmetric,
    writable,
)
from shmem._runtime import library, settle, state
from shmem._spans import Span, of_tensor

# The addresses of dest and source, and this PE's operand, which has the length of the copy. The
# address of the other PE's operand is that of the same symmetric memory at this PE.
Row = tuple[int, int, Array | Span]


class StridedCopy:
    """A copy from or to an array with gaps, by several blocking calls."""

    def __init__(self, dest: Array, source: Array) -> None:
        self._dest = dest
        self._source = source

    def refused(self, call: str) -> LayoutError:
        """The error of a call that takes only contiguous arrays."""
        is_source = self._dest.flags.c_contiguous
        name, which = ("source", self._source) if is_source else ("dest", self._dest)
        return not_contiguous(call, name, which, "pass slices without strides")

    def put(self, call: str, handle: int, pe: int, stream: object) -> None:
        """Copies to dest at another PE. An error if stream is not None."""
        if stream is not None:
            raise self.refused(call)
        functions = library(call)
        to, data = self._dest.squeeze(), self._source.squeeze()
        to, data = _strided.forwards(call, "dest", to, data)
        if not _strided.runs_forwards(data):
            data = np.ascontiguousarray(of_cpu(call, "source that runs backwards", data))
        start = check_span(call, "dest", to)
        origin = address_of(data)
        for to_at, from_at, to_step, from_step, run, blocks in _strided.pieces(to, data):
            if blocks == 1:
                functions.shmem_ctx_putmem(handle, start + to_at, origin + from_at, run, pe)
            else:
                functions.shmem_ctx_ibput8(
                    handle, start + to_at, origin + from_at, to_step, from_step, run, blocks, pe
                )
        if state.failed:
            settle(call)

    def get(self, call: str, handle: int, pe: int, stream: object) -> None:
        """Copies from source at another PE. An error if stream is not None.

        A dest that runs backwards gets its data through a temporary array: the library accepts no
        negative strides.
        """
        if stream is not None:
            raise self.refused(call)
        functions = library(call)
        to, data = self._dest.squeeze(), self._source.squeeze()
        data, to = _strided.forwards(call, "source", data, to)
        target = to
        if not _strided.runs_forwards(to):
            of_cpu(call, "dest that runs backwards", to)
            target = np.empty(to.shape, to.dtype)
        start = check_span(call, "source", data)
        origin = address_of(target)
        for to_at, from_at, to_step, from_step, run, blocks in _strided.pieces(target, data):
            if blocks == 1:
                functions.shmem_ctx_getmem(handle, origin + to_at, start + from_at, run, pe)
            else:
                functions.shmem_ctx_ibget8(
                    handle, origin + to_at, start + from_at, to_step, from_step, run, blocks, pe
                )
        if target is not to:
            to[...] = target
        if state.failed:
            settle(call)


def _tensors(call: str, dest: Any, source: Any, at_peer: Any) -> Row | None:
    """A copy between two tensors of a GPU, of which at_peer (dest or source) is the other PE's.

    None for other operands, and for tensors of different types or outside of symmetric memory: the
    caller's longer path serves the former and refuses the latter.
    """
    to = of_tensor(dest)
    data = None if to is None else of_tensor(source)
    if to is None or data is None or to.dtype != data.dtype:
        return None
    local, remote = (data, to) if at_peer is dest else (to, data)
    check_shapes(call, to, data)
    if _blocks.find(remote.address, local.nbytes) is None:
        return None
    return to.address, data.address, local


def outgoing(call: str, dest: Any, source: Any) -> Row | StridedCopy:
    """A copy of source to dest at another PE."""
    row = _tensors(call, dest, source, dest)
    if row is not None:
        return row
    to = as_array(call, "dest", dest)
    data = fitted(call, to, as_source(call, source, to.dtype))
    if not (to.flags.c_contiguous and data.flags.c_contiguous):
        return StridedCopy(to, data)
    there = _blocks.place(address_of(to), data.nbytes, to.size)
    if there is None:
        raise refuse_address(call, "dest", to, address_of(to))
    return there, address_of(data), data


def outgoing_row(call: str, dest: Any, source: Any) -> Row:
    """A copy of contiguous arrays, of source to dest at another PE; refuses arrays with gaps."""
    row = _tensors(call, dest, source, dest)
    if row is not None:
        return row
    to, there = symmetric(call, "dest", dest)
    data = fitted(call, to, as_source(call, source, to.dtype))
    if not data.flags.c_contiguous:
        raise not_contiguous(call, "source", data)
    return there, address_of(data), data


def incoming(call: str, dest: Any, source: Any) -> Row | StridedCopy:
    """A copy to dest of source at another PE."""
    row = _tensors(call, dest, source, source)
    if row is not None:
        return row
    to = as_array(call, "dest", dest)
    writable(call, "dest", to)
    data = as_array(call, "source", source)
    check_dtype(call, "source", data, to.dtype)
    check_shapes(call, to, data)
    if not (to.flags.c_contiguous and data.flags.c_contiguous):
        return StridedCopy(to, data)
    there = _blocks.place(address_of(data), to.nbytes, data.size)
    if there is None:
        raise refuse_address(call, "source", data, address_of(data))
    return address_of(to), there, to
