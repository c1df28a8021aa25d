"""Shapes: the lengths of the dimensions that a program requests."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex, cast

import numpy as np

from shmem._errors import SizeError
from shmem._runtime import whole

Shape = SupportsIndex | Sequence[SupportsIndex]


def sizes_of(call: str, shape: Shape) -> tuple[int, ...]:
    """The lengths of the dimensions that a program asks for."""
    number = whole(shape)
    if number is not None:
        out: tuple[int, ...] = (number,)
    else:
        try:
            out = tuple(map(index, cast(Sequence[SupportsIndex], shape)))
        except TypeError:
            out = (-1,)  # not a shape either: refused below
    if any(n < 0 for n in out):
        raise SizeError(
            call, f"shape {shape!r}", "is not a shape", "pass an int or a tuple of ints"
        )
    try:
        np.empty((0,) * len(out))  # the maximum number of dimensions depends on numpy's release
    except ValueError as error:
        raise SizeError(
            call, f"shape of {len(out)} dimensions", f"numpy has none: {error}", "use fewer"
        ) from None
    return out
