"""Notification counters: waits for them, their values, and ranges of them."""

from __future__ import annotations

import ctypes
from typing import Any, SupportsIndex

from shmem._describe import brief
from shmem._errors import ArgumentError, DtypeError
from shmem._protocols import StreamLike
from shmem._runtime import integer, library, settle, state, untyped, whole
from shmem._streams import stream_of
from shmem._waiting import wait

# The states of a counter, as shmemi_notify_state stores them: it does not exist, is in no range of
# notify_alloc, begins a range, is within one, or is refused: with SHMEM_CHECKS=full a program that
# has allocated ranges may use no other counters.
_ABSENT, _, _BEGINS_RANGE, _, _REFUSED = range(5)


def _state_of(notify: int) -> int:
    """The state of a counter, _ABSENT to _REFUSED."""
    answer = ctypes.c_int()
    untyped("shmemi_notify_state")(notify, ctypes.byref(answer))
    return answer.value


def counter_of(call: str, notify: Any) -> int:
    """The number of a counter that the program may use."""
    number = integer(call, "notify", notify)
    found = _state_of(number)
    if found == _ABSENT:
        raise ArgumentError(
            call,
            f"notification counter {number}",
            "it does not exist",
            "use 0 to SHMEM_NOTIFY_COUNT - 1, or set that higher",
        )
    if found == _REFUSED:
        raise ArgumentError(
            call,
            f"notification counter {number}",
            "it is not in an allocated range",
            "use the counters that notify_alloc returned",
        )
    return number


def _value(call: str, name: str, value: Any) -> int:
    """A value of a counter."""
    given = whole(value)
    if given is None or not 0 <= given < 1 << 63:
        raise DtypeError(
            call, f"{name} {brief(value)}", "a counter cannot have it", "pass 0 to 2^63 - 1"
        )
    return given


def notify_wait(
    notify: SupportsIndex,
    count: int,
    *,
    stream: StreamLike | None = None,
    timeout: float | None = None,
) -> int:
    """Wait until a notification counter of this PE has reached a number.

    A put whose notify= names the counter is counted when its data has arrived.

    Parameters
    ----------
    notify : SupportsIndex
        The counter: 0 to SHMEM_NOTIFY_COUNT - 1.
    count : int
        The number. With `stream` it is the stream that waits for it.
    stream : StreamLike, optional
        The CUDA stream on which the call is queued; "current" is torch's.
    timeout : float, optional
        Seconds after which the call gives up; None waits without a limit.

    Returns
    -------
    int
        The counter; with `stream`, `count`.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    ArgumentError
        There is no such counter.
    DtypeError
        A counter cannot have that value.
    DeviceError
        `stream` cannot be used with this heap.
    WaitTimeoutError
        `timeout` seconds have passed.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    call = "notify_wait"
    functions = library(call)
    counter, least = counter_of(call, notify), _value(call, "count", count)
    if stream is not None:
        on = stream_of(call, stream, timeout=timeout)
        functions.shmemx_notify_wait_on_stream(counter, least, on)
        return least
    answer: int = wait(call, functions.shmemx_notify_wait, counter, least, timeout=timeout)
    if state.failed:
        settle(call)
    return answer


def notify_test(notify: SupportsIndex, count: int) -> bool:
    """Report at once whether a notification counter of this PE has reached a number.

    Parameters
    ----------
    notify : SupportsIndex
        The counter: 0 to SHMEM_NOTIFY_COUNT - 1.
    count : int
        The number.

    Returns
    -------
    bool
        Whether it has.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    ArgumentError
        There is no such counter.
    DtypeError
        A counter cannot have that value.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    call = "notify_test"
    functions = library(call)
    counter, least = counter_of(call, notify), _value(call, "count", count)
    answer = functions.shmemx_notify_test(counter, least)
    if state.failed:
        settle(call)
    return answer != 0


def notify_fetch(notify: SupportsIndex) -> int:
    """Read a notification counter of this PE.

    Parameters
    ----------
    notify : SupportsIndex
        The counter: 0 to SHMEM_NOTIFY_COUNT - 1.

    Returns
    -------
    int
        The counter.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    ArgumentError
        There is no such counter.
    """
    call = "notify_fetch"
    functions = library(call)
    return functions.shmemx_notify_fetch(counter_of(call, notify))


def notify_reset(
    notify: SupportsIndex, value: int = 0, *, stream: StreamLike | None = None
) -> None:
    """Set a notification counter of this PE.

    A put that arrives during the call may be counted or not: wait for such puts first.

    Parameters
    ----------
    notify : SupportsIndex
        The counter: 0 to SHMEM_NOTIFY_COUNT - 1.
    value : int, optional
        Its new value.
    stream : StreamLike, optional
        The CUDA stream on which the call is queued; "current" is torch's.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    ArgumentError
        There is no such counter.
    DtypeError
        A counter cannot have that value.
    DeviceError
        `stream` cannot be used with this heap.
    """
    call = "notify_reset"
    functions = library(call)
    counter, new = counter_of(call, notify), _value(call, "value", value)
    if stream is not None:
        functions.shmemx_notify_reset_on_stream(counter, new, stream_of(call, stream))
    else:
        functions.shmemx_notify_reset(counter, new)


def notify_alloc(n: SupportsIndex) -> int:
    """Reserve a range of counters and set them to 0.

    All PEs make the call together, with the same `n`, and get the same range.

    Parameters
    ----------
    n : SupportsIndex
        The length of the range.

    Returns
    -------
    int
        The first counter of the range.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    ArgumentError
        `n` is less than 1, or there are not that many free counters in a row.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    call = "notify_alloc"
    functions = library(call)
    number = integer(call, "n", n)
    if number < 1:
        raise ArgumentError(
            call, f"n {number}", "it is not a number of counters", "ask for 1 or more"
        )
    first = functions.shmemx_notify_alloc(number)
    if state.failed:
        settle(call)
    if first < 0:
        raise ArgumentError(
            call,
            f"n {number}",
            "so many counters in a row are not free",
            "free ranges on every PE, or raise SHMEM_NOTIFY_COUNT",
        )
    return first


def notify_free(notify: SupportsIndex) -> None:
    """Release a range of counters. All PEs make the call together.

    Parameters
    ----------
    notify : SupportsIndex
        The result of `notify_alloc`.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    ArgumentError
        No range begins there.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    call = "notify_free"
    functions = library(call)
    number = integer(call, "notify", notify)
    if _state_of(number) != _BEGINS_RANGE:
        raise ArgumentError(
            call,
            f"notification counter {number}",
            "no range begins there",
            "free each range once, by the result of notify_alloc",
        )
    functions.shmemx_notify_free(number)
    if state.failed:
        settle(call)
