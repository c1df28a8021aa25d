"""Copies between arrays with strides, as a sequence of calls of the library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from shmem._describe import describe
from shmem._dtypes import Array
from shmem._errors import LayoutError

# (bytes from the start of dest, of source, stride in dest, in source, bytes of a block,
# blocks): one call of ibput8 or ibget8, or a plain copy where there is one block.
Piece = tuple[int, int, int, int, int, int]


def forwards(call: str, name: str, far: Array, near: Array) -> tuple[Array, Array]:
    """Reverses both if the remote one runs backwards: the library accepts no negative strides."""
    turn: list[Any] = [slice(None)] * far.ndim
    for axis, stride in enumerate(far.strides):
        if stride < 0:
            turn[axis] = slice(None, None, -1)
        elif stride == 0 and far.shape[axis] > 1:
            raise LayoutError(
                call,
                describe(name, far),
                "several of its elements are the same memory",
                "pass an array of elements of its own",
            )
    key = tuple(turn)
    return far[key], near[key]


def runs_forwards(array: Array) -> bool:
    """Whether the library accepts all strides."""
    return all(stride > 0 for stride in array.strides)


def pieces(dest: Array, source: Array) -> Iterator[Piece]:
    """The calls that copy source to dest, of one shape and with positive strides."""
    if dest.size == 0:
        return
    # From the inside out: dimensions that follow each other in both are one run.
    dims = list(zip(dest.shape, dest.strides, source.strides, strict=True))
    run = dest.itemsize
    while dims and dims[-1][1] == run and dims[-1][2] == run:
        run *= dims.pop()[0]
    blocks, to_step, from_step = dims.pop() if dims else (1, run, run)
    # Dimensions that continue with the same steps are one row of blocks.
    while dims and dims[-1][1] == blocks * to_step and dims[-1][2] == blocks * from_step:
        blocks *= dims.pop()[0]
    for place in np.ndindex(*(n for n, _, _ in dims)):
        to = sum(i * d for i, (_, d, _) in zip(place, dims, strict=True))
        start = sum(i * s for i, (_, _, s) in zip(place, dims, strict=True))
        yield to, start, to_step, from_step, run, blocks
