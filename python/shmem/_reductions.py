"""Reductions: collectives that combine the arrays of all PEs of a team."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from shmem._collectives import check_apart, check_room, end, operands
from shmem._dtypes import BITS, ORDERED, SUMMED, name_of, name_on_stream
from shmem._errors import ArgumentError
from shmem._protocols import Memory, StreamLike
from shmem._runtime import library
from shmem._streams import stream_of
from shmem._teams import Team, team_handle


def _combine(
    call: str,
    table: dict[np.dtype[Any], str],
    dest: Memory,
    source: Memory,
    team: Team | None,
    stream: StreamLike | None = None,
) -> None:
    functions = library(call)
    to, address, data, origin = operands(call, dest, source)
    if stream is not None and table is not BITS:
        kind = name_on_stream(call, to.dtype)
    else:
        kind = name_of(call, to.dtype, table)
    handle, _ = team_handle(call, team)
    check_room(call, "dest", to, data.size)
    check_apart(call, address, data.nbytes, origin, data.nbytes, same=True)
    form: Callable[..., int]
    if stream is None:
        form = getattr(functions, f"shmem_{kind}_{call}")
        failed = form(handle, address, origin, data.size)
    else:
        on = stream_of(call, stream)
        form = getattr(functions, f"shmemx_{kind}_{call}_on_stream")
        failed = form(handle, address, origin, data.size, on)
    end(call, failed)


def sum_reduce(
    dest: Memory, source: Memory, *, team: Team | None = None, stream: StreamLike | None = None
) -> None:
    """Makes dest, at every PE of the team, the sum of the sources."""
    _combine("sum_reduce", SUMMED, dest, source, team, stream)


def prod_reduce(
    dest: Memory, source: Memory, *, team: Team | None = None, stream: StreamLike | None = None
) -> None:
    """Makes dest, at every PE of the team, the product of the sources."""
    _combine("prod_reduce", SUMMED, dest, source, team, stream)


def max_reduce(
    dest: Memory, source: Memory, *, team: Team | None = None, stream: StreamLike | None = None
) -> None:
    """Makes dest, at every PE of the team, the greatest of the sources."""
    _combine("max_reduce", ORDERED, dest, source, team, stream)


def min_reduce(
    dest: Memory, source: Memory, *, team: Team | None = None, stream: StreamLike | None = None
) -> None:
    """Makes dest, at every PE of the team, the least of the sources."""
    _combine("min_reduce", ORDERED, dest, source, team, stream)


def and_reduce(
    dest: Memory, source: Memory, *, team: Team | None = None, stream: StreamLike | None = None
) -> None:
    """Makes dest, at every PE of the team, the bitwise and of the sources."""
    _combine("and_reduce", BITS, dest, source, team, stream)


def or_reduce(
    dest: Memory, source: Memory, *, team: Team | None = None, stream: StreamLike | None = None
) -> None:
    """Makes dest, at every PE of the team, the bitwise or of the sources."""
    _combine("or_reduce", BITS, dest, source, team, stream)


def xor_reduce(
    dest: Memory, source: Memory, *, team: Team | None = None, stream: StreamLike | None = None
) -> None:
    """Makes dest, at every PE of the team, the bitwise exclusive or of the sources."""
    _combine("xor_reduce", BITS, dest, source, team, stream)


def sum_inscan(dest: Memory, source: Memory, *, team: Team | None = None) -> None:
    """Makes dest the sum of the sources of the PEs up to the caller."""
    _combine("sum_inscan", SUMMED, dest, source, team)


def sum_exscan(dest: Memory, source: Memory, *, team: Team | None = None) -> None:
    """Makes dest the sum of the sources of the PEs before the caller; 0 at the first."""
    _combine("sum_exscan", SUMMED, dest, source, team)


_REDUCTIONS = {
    "sum": SUMMED,
    "prod": SUMMED,
    "max": ORDERED,
    "min": ORDERED,
    "and": BITS,
    "or": BITS,
    "xor": BITS,
}
Reduction = Literal["sum", "prod", "max", "min", "and", "or", "xor"]


def all_reduce(
    dest: Memory,
    source: Memory,
    op: Reduction = "sum",
    *,
    team: Team | None = None,
    stream: StreamLike | None = None,
) -> None:
    """Does what `sum_reduce` does, or another reduction: prod, max, min, and, or, xor."""
    table = _REDUCTIONS.get(op)
    if table is None:
        raise ArgumentError(
            "all_reduce", f"op={op!r}", "is not a reduction", f"use {', '.join(_REDUCTIONS)}"
        )
    _combine(f"{op}_reduce", table, dest, source, team, stream)
