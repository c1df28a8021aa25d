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
    """Carries out the reduction or scan of this name; table has the types that it takes.

    On a stream the library has other types (name_on_stream), except for bitwise operations.
    """
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
    """Combine the arrays of all PEs of the team by their sum.

    Parameters
    ----------
    dest : Memory
        Contiguous symmetric memory; it gets the result on every PE, and may be `source`.
    source : Memory
        Contiguous symmetric memory of integers, floats or complex numbers.
    team : Team, optional
        The PEs that make the call; every PE of the job by default.
    stream : StreamLike, optional
        The CUDA stream on which the call is queued; "current" is torch's.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        An array that must be symmetric is not.
    FreedError
        The array was freed.
    DtypeError
        The dtypes differ.
    SizeError
        An array is too short, or the two overlap.
    LayoutError
        An array is not contiguous, or `dest` is read-only.
    ArgumentError
        `team` is not a team of this job.
    DeviceError
        `stream` cannot be used with this heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    _combine("sum_reduce", SUMMED, dest, source, team, stream)


def prod_reduce(
    dest: Memory, source: Memory, *, team: Team | None = None, stream: StreamLike | None = None
) -> None:
    """Combine the arrays of all PEs of the team by their product.

    Parameters
    ----------
    dest : Memory
        Contiguous symmetric memory; it gets the result on every PE, and may be `source`.
    source : Memory
        Contiguous symmetric memory of integers, floats or complex numbers.
    team : Team, optional
        The PEs that make the call; every PE of the job by default.
    stream : StreamLike, optional
        The CUDA stream on which the call is queued; "current" is torch's.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        An array that must be symmetric is not.
    FreedError
        The array was freed.
    DtypeError
        The dtypes differ.
    SizeError
        An array is too short, or the two overlap.
    LayoutError
        An array is not contiguous, or `dest` is read-only.
    ArgumentError
        `team` is not a team of this job.
    DeviceError
        `stream` cannot be used with this heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    _combine("prod_reduce", SUMMED, dest, source, team, stream)


def max_reduce(
    dest: Memory, source: Memory, *, team: Team | None = None, stream: StreamLike | None = None
) -> None:
    """Combine the arrays of all PEs of the team by their maximum.

    Parameters
    ----------
    dest : Memory
        Contiguous symmetric memory; it gets the result on every PE, and may be `source`.
    source : Memory
        Contiguous symmetric memory of integers or floats.
    team : Team, optional
        The PEs that make the call; every PE of the job by default.
    stream : StreamLike, optional
        The CUDA stream on which the call is queued; "current" is torch's.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        An array that must be symmetric is not.
    FreedError
        The array was freed.
    DtypeError
        The dtypes differ.
    SizeError
        An array is too short, or the two overlap.
    LayoutError
        An array is not contiguous, or `dest` is read-only.
    ArgumentError
        `team` is not a team of this job.
    DeviceError
        `stream` cannot be used with this heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    _combine("max_reduce", ORDERED, dest, source, team, stream)


def min_reduce(
    dest: Memory, source: Memory, *, team: Team | None = None, stream: StreamLike | None = None
) -> None:
    """Combine the arrays of all PEs of the team by their minimum.

    Parameters
    ----------
    dest : Memory
        Contiguous symmetric memory; it gets the result on every PE, and may be `source`.
    source : Memory
        Contiguous symmetric memory of integers or floats.
    team : Team, optional
        The PEs that make the call; every PE of the job by default.
    stream : StreamLike, optional
        The CUDA stream on which the call is queued; "current" is torch's.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        An array that must be symmetric is not.
    FreedError
        The array was freed.
    DtypeError
        The dtypes differ.
    SizeError
        An array is too short, or the two overlap.
    LayoutError
        An array is not contiguous, or `dest` is read-only.
    ArgumentError
        `team` is not a team of this job.
    DeviceError
        `stream` cannot be used with this heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    _combine("min_reduce", ORDERED, dest, source, team, stream)


def and_reduce(
    dest: Memory, source: Memory, *, team: Team | None = None, stream: StreamLike | None = None
) -> None:
    """Combine the arrays of all PEs of the team by a bitwise and.

    Parameters
    ----------
    dest : Memory
        Contiguous symmetric memory; it gets the result on every PE, and may be `source`.
    source : Memory
        Contiguous symmetric memory of integers.
    team : Team, optional
        The PEs that make the call; every PE of the job by default.
    stream : StreamLike, optional
        The CUDA stream on which the call is queued; "current" is torch's.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        An array that must be symmetric is not.
    FreedError
        The array was freed.
    DtypeError
        The dtypes differ.
    SizeError
        An array is too short, or the two overlap.
    LayoutError
        An array is not contiguous, or `dest` is read-only.
    ArgumentError
        `team` is not a team of this job.
    DeviceError
        `stream` cannot be used with this heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    _combine("and_reduce", BITS, dest, source, team, stream)


def or_reduce(
    dest: Memory, source: Memory, *, team: Team | None = None, stream: StreamLike | None = None
) -> None:
    """Combine the arrays of all PEs of the team by a bitwise or.

    Parameters
    ----------
    dest : Memory
        Contiguous symmetric memory; it gets the result on every PE, and may be `source`.
    source : Memory
        Contiguous symmetric memory of integers.
    team : Team, optional
        The PEs that make the call; every PE of the job by default.
    stream : StreamLike, optional
        The CUDA stream on which the call is queued; "current" is torch's.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        An array that must be symmetric is not.
    FreedError
        The array was freed.
    DtypeError
        The dtypes differ.
    SizeError
        An array is too short, or the two overlap.
    LayoutError
        An array is not contiguous, or `dest` is read-only.
    ArgumentError
        `team` is not a team of this job.
    DeviceError
        `stream` cannot be used with this heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    _combine("or_reduce", BITS, dest, source, team, stream)


def xor_reduce(
    dest: Memory, source: Memory, *, team: Team | None = None, stream: StreamLike | None = None
) -> None:
    """Combine the arrays of all PEs of the team by a bitwise exclusive or.

    Parameters
    ----------
    dest : Memory
        Contiguous symmetric memory; it gets the result on every PE, and may be `source`.
    source : Memory
        Contiguous symmetric memory of integers.
    team : Team, optional
        The PEs that make the call; every PE of the job by default.
    stream : StreamLike, optional
        The CUDA stream on which the call is queued; "current" is torch's.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        An array that must be symmetric is not.
    FreedError
        The array was freed.
    DtypeError
        The dtypes differ.
    SizeError
        An array is too short, or the two overlap.
    LayoutError
        An array is not contiguous, or `dest` is read-only.
    ArgumentError
        `team` is not a team of this job.
    DeviceError
        `stream` cannot be used with this heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    _combine("xor_reduce", BITS, dest, source, team, stream)


def sum_inscan(dest: Memory, source: Memory, *, team: Team | None = None) -> None:
    """Sum the arrays of the PEs up to this one.

    Parameters
    ----------
    dest : Memory
        Contiguous symmetric memory; it gets the sum, which differs between PEs.
    source : Memory
        Contiguous symmetric memory of integers, floats or complex numbers.
    team : Team, optional
        The PEs that make the call; every PE of the job by default.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        An array that must be symmetric is not.
    FreedError
        The array was freed.
    DtypeError
        The dtypes differ.
    SizeError
        An array is too short, or the two overlap.
    LayoutError
        An array is not contiguous, or `dest` is read-only.
    ArgumentError
        `team` is not a team of this job.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    _combine("sum_inscan", SUMMED, dest, source, team)


def sum_exscan(dest: Memory, source: Memory, *, team: Team | None = None) -> None:
    """Sum the arrays of the PEs before this one.

    Parameters
    ----------
    dest : Memory
        Contiguous symmetric memory; it gets the sum, 0 at the first PE of the team.
    source : Memory
        Contiguous symmetric memory of integers, floats or complex numbers.
    team : Team, optional
        The PEs that make the call; every PE of the job by default.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        An array that must be symmetric is not.
    FreedError
        The array was freed.
    DtypeError
        The dtypes differ.
    SizeError
        An array is too short, or the two overlap.
    LayoutError
        An array is not contiguous, or `dest` is read-only.
    ArgumentError
        `team` is not a team of this job.
    PeerError
        A PE is lost, and the job goes on without it.
    """
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
    """Combine the arrays of all PEs of the team by the operation `op`.

    Parameters
    ----------
    dest : Memory
        Contiguous symmetric memory; it gets the result on every PE, and may be `source`.
    source : Memory
        Contiguous symmetric memory of a type that the operation takes.
    op : Reduction
        The operation: sum, prod, max, min, and, or or xor.
    team : Team, optional
        The PEs that make the call; every PE of the job by default.
    stream : StreamLike, optional
        The CUDA stream on which the call is queued; "current" is torch's.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        An array that must be symmetric is not.
    FreedError
        The array was freed.
    DtypeError
        The dtypes differ.
    SizeError
        An array is too short, or the two overlap.
    LayoutError
        An array is not contiguous, or `dest` is read-only.
    ArgumentError
        `op` is not a reduction, or `team` not a team.
    DeviceError
        `stream` cannot be used with this heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    table = _REDUCTIONS.get(op)
    if table is None:
        raise ArgumentError(
            "all_reduce", f"op={op!r}", "is not a reduction", f"use {', '.join(_REDUCTIONS)}"
        )
    _combine(f"{op}_reduce", table, dest, source, team, stream)
