"""Order, barriers, and waiting for several words that other PEs write."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from shmem._addresses import address_of
from shmem._constants import Comparison, comparison
from shmem._contexts import DEFAULT, Context, handle_of
from shmem._describe import describe
from shmem._dtypes import ATOMIC, Array, name_of
from shmem._errors import DtypeError, SizeError
from shmem._ghosts import of_cpu
from shmem._numbers import number
from shmem._operands import as_source, symmetric
from shmem._protocols import Memory, Source, StreamLike
from shmem._runtime import library, settle, state
from shmem._streams import stream_of
from shmem._waiting import wait

_NONE = (1 << 64) - 1  # SIZE_MAX, the library's answer for "no index"


def quiet(*, context: Context | None = None, stream: StreamLike | None = None) -> None:
    """Wait until this PE's operations are complete at the other PEs.

    Parameters
    ----------
    context : Context, optional
        The context; by default that of operations without `context=`.
    stream : StreamLike, optional
        The CUDA stream on which the call is queued; "current" is torch's.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    ArgumentError
        `context` is not a context of this job.
    DeviceError
        `stream` cannot be used with this heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    functions = library("quiet")
    if stream is not None:
        functions.shmemx_quiet_on_stream(stream_of("quiet", stream, context))
        return
    ctx = context or DEFAULT
    handle = handle_of("quiet", ctx)
    kept = ctx.take()
    functions.shmem_ctx_quiet(handle)
    del kept
    if state.failed:
        settle("quiet")


def fence(*, context: Context | None = None) -> None:
    """Order this PE's earlier operations to each PE before its later ones to that PE.

    Parameters
    ----------
    context : Context, optional
        The context; by default that of operations without `context=`.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    ArgumentError
        `context` is not a context of this job.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    library("fence").shmem_ctx_fence(handle_of("fence", context or DEFAULT))
    if state.failed:
        settle("fence")


def barrier_all(*, stream: StreamLike | None = None) -> None:
    """Wait until every PE has called it and all earlier operations are complete.

    These are the operations without `context=` or, with `stream`, those of streams and kernels.

    Parameters
    ----------
    stream : StreamLike, optional
        The CUDA stream on which the call is queued; "current" is torch's.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    DeviceError
        `stream` cannot be used with this heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    functions = library("barrier_all")
    if stream is not None:
        functions.shmemx_barrier_all_on_stream(stream_of("barrier_all", stream))
        return
    kept = DEFAULT.take()
    functions.shmem_barrier_all()
    del kept
    if state.failed:
        settle("barrier_all")


def sync_all(*, stream: StreamLike | None = None) -> None:
    """Wait until every PE has called it; it completes only plain stores.

    Parameters
    ----------
    stream : StreamLike, optional
        The CUDA stream on which the call is queued; "current" is torch's.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    DeviceError
        `stream` cannot be used with this heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    functions = library("sync_all")
    if stream is not None:
        functions.shmemx_sync_all_on_stream(stream_of("sync_all", stream))
        return
    functions.shmem_sync_all()
    if state.failed:
        settle("sync_all")


# ------------------------------------------------------------------- waiting


def _at_once(_call: str, form: Callable[..., int | None], *operands: Any) -> Any:
    """Makes a call that does not wait: in the place of wait for the calls that do."""
    return form(*operands)


def _wait_or_test(
    call: str,
    ivars: Any,
    cmp: Comparison | int,
    values: Any,
    status: Any,
    places: bool,
    timeout: float | None = None,
) -> tuple[int, Array]:
    """Calls one of the library's waits or tests on an array of words: its result, and indices.

    places: it is a call that stores the indices of the words that satisfy the comparison, and whose
    result is their number. Else the indices are empty.
    """
    functions = library(call)
    array, address = symmetric(call, "ivars", ivars)
    kind = name_of(call, array.dtype, ATOMIC)
    how = comparison(call, cmp)
    n = array.size
    ignored: Array = np.zeros(0, np.int32)
    if status is not None:
        ignored = _mask(call, status)
        _same_size(call, "status", ignored, n)
    mask = address_of(ignored) if status is not None else 0
    indices: Array = np.empty(n if places else 0, np.uint64)
    stored_at = [address_of(indices)] if places else []
    make_call = partial(wait, timeout=timeout) if call.startswith("wait") else _at_once
    if not isinstance(values, (list, tuple)) and np.ndim(values) == 0:
        operand: int | float = number(call, "value", array.dtype, values)
        form = getattr(functions, f"shmem_{kind}_{call}")
        answer = make_call(call, form, address, n, *stored_at, mask, how, operand)
    else:
        given = of_cpu(call, "values", as_source(call, values, array.dtype, "values"))
        wanted = np.ascontiguousarray(given)
        _same_size(call, "values", wanted, n)
        form = getattr(functions, f"shmem_{kind}_{call}_vector")
        answer = make_call(call, form, address, n, *stored_at, mask, how, address_of(wanted))
    if state.failed:
        settle(call)
    return answer, indices


def _mask(call: str, status: Any) -> Array:
    """status as the library takes it: an int for each word, not 0 where the word is ignored."""
    try:
        given = np.asarray(status)
    except (TypeError, ValueError):
        given = np.asarray(None)
    if given.dtype.kind not in "biuf":
        raise DtypeError(call, describe("status", status), "it has no numbers", "pass ints")
    return np.ascontiguousarray(given != 0, dtype=np.int32)


def _same_size(call: str, name: str, array: Array, n: int) -> None:
    """Refuses an array that does not have one element for each of the n words."""
    if array.size != n:
        raise SizeError(
            call, describe(name, array), f"ivars has {n} elements", "pass one for each of them"
        )


def wait_until_all(
    ivars: Memory,
    cmp: Comparison | int,
    values: Source,
    *,
    status: Source | None = None,
    timeout: float | None = None,
) -> None:
    """Wait until all elements satisfy the comparison.

    Parameters
    ----------
    ivars : Memory
        A contiguous symmetric array of int32, int64, uint32 or uint64, which other PEs write.
    cmp : Comparison | int
        The comparison of an element with its value: ==, !=, <, <=, > or >=.
    values : Source
        One number, or one for each element.
    status : Source, optional
        One number for each element; an element where it is not 0 is ignored.
    timeout : float, optional
        Seconds after which the call gives up; None waits without a limit.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        An array that must be symmetric is not.
    FreedError
        The array was freed.
    DtypeError
        `ivars` has another type, or a number does not fit it.
    SizeError
        `values` or `status` does not have one number for each element.
    LayoutError
        The array is not contiguous.
    ArgumentError
        `cmp` is not a comparison.
    WaitTimeoutError
        `timeout` seconds have passed.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    _wait_or_test("wait_until_all", ivars, cmp, values, status, places=False, timeout=timeout)


def wait_until_any(
    ivars: Memory,
    cmp: Comparison | int,
    values: Source,
    *,
    status: Source | None = None,
    timeout: float | None = None,
) -> int | None:
    """Wait until an element satisfies the comparison.

    Parameters
    ----------
    ivars : Memory
        A contiguous symmetric array of int32, int64, uint32 or uint64, which other PEs write.
    cmp : Comparison | int
        The comparison of an element with its value: ==, !=, <, <=, > or >=.
    values : Source
        One number, or one for each element.
    status : Source, optional
        One number for each element; an element where it is not 0 is ignored.
    timeout : float, optional
        Seconds after which the call gives up; None waits without a limit.

    Returns
    -------
    int or None
        The index of such an element; None if all are ignored.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        An array that must be symmetric is not.
    FreedError
        The array was freed.
    DtypeError
        `ivars` has another type, or a number does not fit it.
    SizeError
        `values` or `status` does not have one number for each element.
    LayoutError
        The array is not contiguous.
    ArgumentError
        `cmp` is not a comparison.
    WaitTimeoutError
        `timeout` seconds have passed.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    answer, _ = _wait_or_test(
        "wait_until_any", ivars, cmp, values, status, places=False, timeout=timeout
    )
    return None if answer == _NONE else answer


def wait_until_some(
    ivars: Memory,
    cmp: Comparison | int,
    values: Source,
    *,
    status: Source | None = None,
    timeout: float | None = None,
) -> Array:
    """Wait until elements satisfy the comparison.

    Parameters
    ----------
    ivars : Memory
        A contiguous symmetric array of int32, int64, uint32 or uint64, which other PEs write.
    cmp : Comparison | int
        The comparison of an element with its value: ==, !=, <, <=, > or >=.
    values : Source
        One number, or one for each element.
    status : Source, optional
        One number for each element; an element where it is not 0 is ignored.
    timeout : float, optional
        Seconds after which the call gives up; None waits without a limit.

    Returns
    -------
    numpy.ndarray
        The indices of all that do.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        An array that must be symmetric is not.
    FreedError
        The array was freed.
    DtypeError
        `ivars` has another type, or a number does not fit it.
    SizeError
        `values` or `status` does not have one number for each element.
    LayoutError
        The array is not contiguous.
    ArgumentError
        `cmp` is not a comparison.
    WaitTimeoutError
        `timeout` seconds have passed.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    n, indices = _wait_or_test(
        "wait_until_some", ivars, cmp, values, status, places=True, timeout=timeout
    )
    return indices[:n].astype(np.intp)


def test_all(
    ivars: Memory, cmp: Comparison | int, values: Source, *, status: Source | None = None
) -> bool:
    """Report at once whether all elements satisfy the comparison.

    Parameters
    ----------
    ivars : Memory
        A contiguous symmetric array of int32, int64, uint32 or uint64, which other PEs write.
    cmp : Comparison | int
        The comparison of an element with its value: ==, !=, <, <=, > or >=.
    values : Source
        One number, or one for each element.
    status : Source, optional
        One number for each element; an element where it is not 0 is ignored.

    Returns
    -------
    bool
        Whether they do.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        An array that must be symmetric is not.
    FreedError
        The array was freed.
    DtypeError
        `ivars` has another type, or a number does not fit it.
    SizeError
        `values` or `status` does not have one number for each element.
    LayoutError
        The array is not contiguous.
    ArgumentError
        `cmp` is not a comparison.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    return _wait_or_test("test_all", ivars, cmp, values, status, places=False)[0] != 0


def test_any(
    ivars: Memory, cmp: Comparison | int, values: Source, *, status: Source | None = None
) -> int | None:
    """Find an element that satisfies the comparison, without waiting.

    Parameters
    ----------
    ivars : Memory
        A contiguous symmetric array of int32, int64, uint32 or uint64, which other PEs write.
    cmp : Comparison | int
        The comparison of an element with its value: ==, !=, <, <=, > or >=.
    values : Source
        One number, or one for each element.
    status : Source, optional
        One number for each element; an element where it is not 0 is ignored.

    Returns
    -------
    int or None
        Its index; None if there is none.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        An array that must be symmetric is not.
    FreedError
        The array was freed.
    DtypeError
        `ivars` has another type, or a number does not fit it.
    SizeError
        `values` or `status` does not have one number for each element.
    LayoutError
        The array is not contiguous.
    ArgumentError
        `cmp` is not a comparison.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    answer, _ = _wait_or_test("test_any", ivars, cmp, values, status, places=False)
    return None if answer == _NONE else answer


def test_some(
    ivars: Memory, cmp: Comparison | int, values: Source, *, status: Source | None = None
) -> Array:
    """Find the elements that satisfy the comparison, without waiting.

    Parameters
    ----------
    ivars : Memory
        A contiguous symmetric array of int32, int64, uint32 or uint64, which other PEs write.
    cmp : Comparison | int
        The comparison of an element with its value: ==, !=, <, <=, > or >=.
    values : Source
        One number, or one for each element.
    status : Source, optional
        One number for each element; an element where it is not 0 is ignored.

    Returns
    -------
    numpy.ndarray
        The indices of all that do.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        An array that must be symmetric is not.
    FreedError
        The array was freed.
    DtypeError
        `ivars` has another type, or a number does not fit it.
    SizeError
        `values` or `status` does not have one number for each element.
    LayoutError
        The array is not contiguous.
    ArgumentError
        `cmp` is not a comparison.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    n, indices = _wait_or_test("test_some", ivars, cmp, values, status, places=True)
    return indices[:n].astype(np.intp)
