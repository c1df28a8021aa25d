"""The job: this PE's number, and the other PEs."""

from __future__ import annotations

from typing import SupportsIndex

from shmem._errors import PEError
from shmem._runtime import check_pe, integer, library, refuse, state, whole


def is_initialized() -> bool:
    """Whether the library is in use in this process."""
    return state.count > 0


def my_pe() -> int:
    """The number of this PE."""
    if state.count == 0:
        raise refuse("my_pe")
    return state.pe


def n_pes() -> int:
    """The number of PEs in the job."""
    if state.count == 0:
        raise refuse("n_pes")
    return state.n_pes


def pe_accessible(pe: SupportsIndex) -> bool:
    """Whether pe is a PE that this one can reach: not a lost one."""
    functions = library("pe_accessible")
    number = whole(pe)
    if number is None:
        raise PEError("pe_accessible", f"pe={pe!r}", "is not a PE number", "pass pe as an int")
    return 0 <= number < state.n_pes and functions.shmem_pe_accessible(number) != 0


def put_ordered(pe: SupportsIndex) -> bool:
    """Whether this PE's puts to another one keep their order without a fence.

    Then the signal or the notification of a put says that the bytes of earlier puts to that PE, of
    the same thread and context, are there as well. It is False on networks such as EFA.
    """
    call = "put_ordered"
    functions = library(call)
    return functions.shmemx_put_ordered(check_pe(call, pe)) != 0


def global_exit(status: int) -> None:
    """Ends every PE of the job at once, with this status. It does not return."""
    functions = library("global_exit")
    functions.shmem_global_exit(integer("global_exit", "status", status))
