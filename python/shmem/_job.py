"""The job: this PE's number, and the other PEs."""

from __future__ import annotations

from typing import SupportsIndex

from shmem._errors import PEError
from shmem._runtime import check_pe, integer, library, refuse, state, whole


def is_initialized() -> bool:
    """Report whether the library is in use in this process.

    Returns
    -------
    bool
        True between `init` and `finalize`.
    """
    return state.count > 0


def my_pe() -> int:
    """Return the number of this PE.

    Returns
    -------
    int
        0 to `n_pes` - 1.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    """
    if state.count == 0:
        raise refuse("my_pe")
    return state.pe


def n_pes() -> int:
    """Return the number of PEs in the job.

    Returns
    -------
    int
        1 or more.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    """
    if state.count == 0:
        raise refuse("n_pes")
    return state.n_pes


def pe_accessible(pe: SupportsIndex) -> bool:
    """Report whether this PE can reach another one.

    Parameters
    ----------
    pe : SupportsIndex
        The other PE.

    Returns
    -------
    bool
        False for a lost PE, and for a number that no PE has.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    PEError
        `pe` is not an int.
    """
    functions = library("pe_accessible")
    number = whole(pe)
    if number is None:
        raise PEError("pe_accessible", f"pe={pe!r}", "is not a PE number", "pass pe as an int")
    return 0 <= number < state.n_pes and functions.shmem_pe_accessible(number) != 0


def put_ordered(pe: SupportsIndex) -> bool:
    """Report whether this PE's puts to another one keep their order without a fence.

    If they do, a PE that sees the signal or the notification of a put also sees the bytes of the
    earlier puts to it from the same thread and context.

    Parameters
    ----------
    pe : SupportsIndex
        The other PE.

    Returns
    -------
    bool
        False on networks such as EFA.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    PEError
        There is no PE `pe`.
    """
    call = "put_ordered"
    functions = library(call)
    return functions.shmemx_put_ordered(check_pe(call, pe)) != 0


def global_exit(status: int) -> None:
    """End every PE of the job at once. The call does not return.

    Parameters
    ----------
    status : int
        The exit status of the job.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    ArgumentError
        `status` is not an int of 32 bits.
    """
    functions = library("global_exit")
    functions.shmem_global_exit(integer("global_exit", "status", status))
