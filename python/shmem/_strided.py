"""Copies between arrays with strides, as a sequence of calls of the library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from shmem._describe import describe
from shmem._dtypes import Array
from shmem._errors import LayoutError

# One call of ibput8 or ibget8, or a plain copy of one block: (bytes from the start of dest, bytes
# from the start of source, stride in dest, stride in source, bytes of a block, number of blocks).
# Strides are in bytes.
Piece = tuple[int, int, int, int, int, int]


def forwards(call: str, name: str, remote: Array, local: Array) -> tuple[Array, Array]:
    """Both arrays, each reversed along the dimensions in which the remote one runs backwards.

    The library accepts no negative strides. name is the remote operand's name.
    """
    reversal: list[Any] = [slice(None)] * remote.ndim
    for axis, stride in enumerate(remote.strides):
        if stride < 0:
            reversal[axis] = slice(None, None, -1)
        elif stride == 0 and remote.shape[axis] > 1:
            raise LayoutError(
                call,
                describe(name, remote),
                "several of its elements are the same memory",
                "pass an array of elements of its own",
            )
    key = tuple(reversal)
    return remote[key], local[key]


def runs_forwards(array: Array) -> bool:
    """Whether all strides are positive, as the library needs them."""
    return all(stride > 0 for stride in array.strides)


def pieces(dest: Array, source: Array) -> Iterator[Piece]:
    """The calls that copy source to dest, of one shape and with positive strides."""
    if dest.size == 0:
        return
    # From the last dimension to the first: dimensions without gaps in both arrays are one run.
    dims = list(zip(dest.shape, dest.strides, source.strides, strict=True))
    run = dest.itemsize  # bytes that are contiguous in both
    while dims and dims[-1][1] == run and dims[-1][2] == run:
        run *= dims.pop()[0]
    blocks, to_step, from_step = dims.pop() if dims else (1, run, run)
    # Dimensions in which the blocks go on at the same strides are one sequence of blocks.
    while dims and dims[-1][1] == blocks * to_step and dims[-1][2] == blocks * from_step:
        blocks *= dims.pop()[0]
    for place in np.ndindex(*(n for n, _, _ in dims)):
        to_at = sum(i * stride for i, (_, stride, _) in zip(place, dims, strict=True))
        from_at = sum(i * stride for i, (_, _, stride) in zip(place, dims, strict=True))
        yield to_at, from_at, to_step, from_step, run, blocks
