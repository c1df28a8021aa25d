"""Waits on memory, during which Python handles signals and finalize can begin."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from shmem._errors import ArgumentError, StateError, WaitTimeoutError
from shmem._runtime import after_finalize, before_finalize, quick, refuse, state

# How long the library may wait in one call. So long a wait may delay finalize, and the handler of a
# signal that arrives just before the wait sleeps; a signal during the sleep ends it.
_SLICE_NS = 100_000_000
_LONGEST_S = 1e9  # some 30 years

# The waiting threads, and those of them that are in the library. A thread counts several times if
# its signal handlers wait, too.
_waiting: list[int] = []
_inside: list[int] = []
_leaving = False  # finalize has begun, and new waits raise an error


def wait(
    call: str, form: Callable[..., int | None], *operands: Any, timeout: float | None = None
) -> Any:
    """Calls form, a function of the library that waits for memory, until its wait has succeeded.

    Python runs signal handlers in the main thread, and there only between its own instructions:
    without this, Ctrl-C would have no effect during a wait. And finalize unmaps the memory that a
    wait reads. So the library returns after a slice of time, and the call is repeated. After
    timeout seconds it raises WaitTimeoutError. Other threads run meanwhile.
    """
    me = threading.get_ident()
    # Sets the longest wait of this thread in ns (0: no limit). Returns 0 if neither the limit nor a
    # signal handler has ended a wait since its last call: then form has returned its result.
    limit = quick(call).shmemx_wait_limit
    end = None if timeout is None else time.monotonic_ns() + _nanoseconds(call, timeout)
    _waiting.append(me)
    try:
        limit(_slice(end))
        while True:
            _inside.append(me)
            try:
                if state.count == 0:
                    raise refuse(call)  # another thread, or a signal handler, has finalized
                if _leaving:
                    raise StateError(
                        call, "", "shmem.finalize was called while it waited", "end the wait first"
                    )
                answer = form(*operands)
            finally:
                _inside.remove(me)
            if limit(_slice(end)) == 0:
                return answer
            if end is not None and time.monotonic_ns() >= end:
                raise WaitTimeoutError(
                    call, "", f"it has waited {timeout} s", "call it again, or raise timeout="
                )
    finally:
        _waiting.remove(me)
        limit(_SLICE_NS if me in _waiting else 0)


def _nanoseconds(call: str, timeout: float) -> int:
    """A timeout in nanoseconds; an error unless it is a number of seconds from 0 on."""
    try:
        seconds = float(timeout)
        if seconds >= 0 and not isinstance(timeout, (str, bytes)):
            return int(min(seconds, _LONGEST_S) * 1e9)
    except (TypeError, ValueError):
        pass
    raise ArgumentError(call, f"timeout={timeout!r}", "is not a time", "pass seconds from 0 on")


def _slice(end: int | None) -> int:
    """How many nanoseconds the library may wait now: at least 1, since 0 would be no limit."""
    return _SLICE_NS if end is None else min(_SLICE_NS, max(1, end - time.monotonic_ns()))


def _end_waits() -> None:
    """Before finalize: ends the waits of other threads, which read memory that it will unmap."""
    global _leaving
    _leaving = True
    me = threading.get_ident()
    while any(thread != me for thread in list(_inside)):
        time.sleep(0.001)


def _open() -> None:
    """After finalize: calls may wait again, in the next job."""
    global _leaving
    _leaving = False


before_finalize.insert(0, _end_waits)
after_finalize.append(_open)
