"""Collectives: every PE of a team makes the same call.

dest and source are the same symmetric arrays on every PE: each PE passes its own views of them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NoReturn, SupportsIndex

from shmem._describe import describe
from shmem._dtypes import Array
from shmem._errors import ArgumentError, SizeError
from shmem._operands import check_dtype, symmetric_span, writable
from shmem._protocols import Memory, StreamLike
from shmem._runtime import check_pe, integer, library, settle
from shmem._spans import Span
from shmem._streams import stream_of
from shmem._teams import Team, team_handle

Checked = Array | Span


def operands(call: str, dest: Any, source: Any) -> tuple[Checked, int, Checked, int]:
    """dest and source, each with its address, when both are symmetric and of one dtype."""
    to, address = symmetric_span(call, "dest", dest)
    if not isinstance(to, Span):
        writable(call, "dest", to)
    data, origin = symmetric_span(call, "source", source)
    check_dtype(call, "source", data, to.dtype)
    return to, address, data, origin


def check_room(call: str, name: str, array: Checked, elements: int) -> None:
    """Refuses an operand with fewer elements."""
    if array.size < elements:
        raise SizeError(
            call,
            describe(name, array),
            f"{elements} elements are needed, and it has {array.size}",
            "make it longer on every PE",
        )


def check_apart(call: str, address: int, written: int, origin: int, read: int, same: bool) -> None:
    """Refuses operands that overlap.

    The call writes `written` bytes at address and reads `read` bytes at origin. same: dest and
    source may begin at the same address.
    """
    if written == 0 or read == 0 or (same and address == origin):
        return
    if address < origin + read and origin < address + written:
        _refuse_overlap(call, same)


def _refuse_overlap(call: str, same: bool) -> NoReturn:
    """Raises the error for operands that overlap. same: one array for both would be allowed."""
    raise SizeError(
        call,
        "dest and source",
        "they overlap",
        "pass the same array, or two that do not" if same else "pass two that do not",
    )


def end(call: str, failed: int) -> None:
    """Raises the error of a collective: that a PE is lost, or (failed is not 0) of the team."""
    settle(call)
    if failed:
        raise ArgumentError(call, "team", "the library refuses it", "pass a team that exists")


def broadcast(
    dest: Memory,
    source: Memory,
    root: SupportsIndex,
    *,
    team: Team | None = None,
    stream: StreamLike | None = None,
) -> None:
    """Copy an array of one PE to every PE of the team.

    Parameters
    ----------
    dest : Memory
        Contiguous symmetric memory that is as long as `source` or longer.
    source : Memory
        Contiguous symmetric memory; that of PE `root` is read.
    root : SupportsIndex
        The PE whose `source` is copied: its number in the team.
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
    PEError
        The team has no PE `root`.
    ArgumentError
        `team` is not a team of this job.
    DeviceError
        `stream` cannot be used with this heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    call = "broadcast"
    functions = library(call)
    to, address, data, origin = operands(call, dest, source)
    handle, n = team_handle(call, team)
    root = check_pe(call, root, n, "root")
    check_room(call, "dest", to, data.size)
    check_apart(call, address, data.nbytes, origin, data.nbytes, same=True)
    if stream is None:
        failed = functions.shmem_broadcastmem(handle, address, origin, data.nbytes, root)
    else:
        failed = functions.shmemx_broadcastmem_on_stream(
            handle, address, origin, data.nbytes, root, stream_of(call, stream)
        )
    end(call, failed)


def fcollect(
    dest: Memory, source: Memory, *, team: Team | None = None, stream: StreamLike | None = None
) -> None:
    """Concatenate the arrays of all PEs of the team, of one length.

    Parameters
    ----------
    dest : Memory
        Contiguous symmetric memory for the arrays of all PEs, in the order of the PEs.
    source : Memory
        Contiguous symmetric memory, of the same size on every PE.
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
    call = "fcollect"
    functions = library(call)
    to, address, data, origin = operands(call, dest, source)
    handle, n = team_handle(call, team)
    check_room(call, "dest", to, n * data.size)
    check_apart(call, address, n * data.nbytes, origin, data.nbytes, same=n == 1)
    if stream is None:
        failed = functions.shmem_fcollectmem(handle, address, origin, data.nbytes)
    else:
        failed = functions.shmemx_fcollectmem_on_stream(
            handle, address, origin, data.nbytes, stream_of(call, stream)
        )
    end(call, failed)


def collect(dest: Memory, source: Memory, *, team: Team | None = None) -> None:
    """Concatenate the arrays of all PEs of the team, of any lengths.

    If `dest` of one PE is too short, every PE of the team raises SizeError, and nothing is written.

    Parameters
    ----------
    dest : Memory
        Contiguous symmetric memory for the arrays of all PEs, in the order of the PEs.
    source : Memory
        Contiguous symmetric memory; its length may differ between PEs, and may be 0.
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
    call = "collect"
    functions = library(call)
    to, address, data, origin = operands(call, dest, source)
    handle, n = team_handle(call, team)
    # Only in the call do the PEs learn the length of all parts together, so dest cannot be checked
    # for it before. room is how many bytes the call may write: up to source, if source is in dest.
    room = to.nbytes
    if data.nbytes and not (n == 1 and address == origin):
        if address <= origin:
            room = min(room, origin - address)
        elif address < origin + data.nbytes:
            room = 0
    needed, least = ctypes.c_size_t(), ctypes.c_size_t()
    failed = functions.shmemx_collectmem_room(
        handle,
        address,
        origin,
        data.nbytes,
        room,
        ctypes.addressof(needed),
        ctypes.addressof(least),
    )
    if failed <= 0:
        end(call, failed)
        return
    settle(call)
    if to.nbytes >= needed.value > room:  # dest is long enough, but source is within these bytes
        _refuse_overlap(call, same=n == 1)
    parts, least_room = (size.value // to.itemsize for size in (needed, least))
    raise SizeError(
        call,
        describe("dest", to),
        f"the parts of the {n} PEs have {parts} elements together, and a PE has room for "
        f"{least_room}",
        "make dest longer on every PE, and put it where source is not",
    )


def alltoall(
    dest: Memory, source: Memory, *, team: Team | None = None, stream: StreamLike | None = None
) -> None:
    """Exchange blocks: block j of PE i's source becomes block i of PE j's dest.

    Parameters
    ----------
    dest : Memory
        Contiguous symmetric memory, as long as `source`.
    source : Memory
        One block for each PE of the team, all of one length.
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
    call = "alltoall"
    functions = library(call)
    to, address, data, origin = operands(call, dest, source)
    handle, n = team_handle(call, team)
    if data.size % n:
        raise SizeError(
            call,
            describe("source", data),
            f"it is not {n} blocks of one length",
            f"pass a multiple of {n} elements",
        )
    check_room(call, "dest", to, data.size)
    check_apart(call, address, data.nbytes, origin, data.nbytes, same=n == 1)
    nbytes = data.nbytes // n
    if stream is None:
        failed = functions.shmem_alltoallmem(handle, address, origin, nbytes)
    else:
        failed = functions.shmemx_alltoallmem_on_stream(
            handle, address, origin, nbytes, stream_of(call, stream)
        )
    end(call, failed)


def alltoalls(
    dest: Memory, source: Memory, dst: int, sst: int, nelems: int, *, team: Team | None = None
) -> None:
    """Exchange blocks as `alltoall` does, with strides.

    Parameters
    ----------
    dest : Memory
        Contiguous symmetric memory.
    source : Memory
        Contiguous symmetric memory.
    dst : int
        The distance from an element to the next in `dest`, in elements.
    sst : int
        The distance from an element to the next in `source`, in elements.
    nelems : int
        The number of elements of a block.
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
    call = "alltoalls"
    functions = library(call)
    to, address, data, origin = operands(call, dest, source)
    handle, n = team_handle(call, team)
    dst, sst = integer(call, "dst", dst), integer(call, "sst", sst)
    nelems = integer(call, "nelems", nelems)
    if dst < 1 or sst < 1 or nelems < 0:
        raise ArgumentError(
            call, f"dst {dst}, sst {sst}, nelems {nelems}", "are not usable", "use 1 or more"
        )
    if nelems:
        written, read = ((n * nelems - 1) * step + 1 for step in (dst, sst))
        check_room(call, "dest", to, written)
        check_room(call, "source", data, read)
        check_apart(
            call,
            address,
            written * to.itemsize,
            origin,
            read * to.itemsize,
            same=n == 1 and dst == sst,
        )
    # shmem_alltoallsmem would count strides in bytes, so the function of a type of this size moves
    # the elements. A long double has 16 bytes.
    form: Callable[..., int] | None = {
        1: functions.shmem_uint8_alltoalls,
        2: functions.shmem_uint16_alltoalls,
        4: functions.shmem_uint32_alltoalls,
        8: functions.shmem_uint64_alltoalls,
        16: functions.shmem_longdouble_alltoalls,
    }.get(to.itemsize)
    if form is None:
        raise SizeError(
            call, describe("dest", to), "elements have 1, 2, 4, 8 or 16 bytes", "use alltoall"
        )
    end(call, form(handle, address, origin, dst, sst, nelems))
