"""Waits on memory, during which Python handles signals and finalize can begin."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from shmem._errors import ArgumentError, StateError, WaitTimeoutError
from shmem._runtime import after_finalize, before_finalize, quick, refuse, state

# The time by which a wait may delay the handler of a signal that arrives just before the sleep, and
# finalize; a signal that arrives later ends the sleep.
_SLICE_NS = 100_000_000
_LONGEST_S = 1e9  # some 30 years

# The waiting threads, and those of them that are in the library. A thread counts several times if
# its signal handlers wait, too.
_waiting: list[int] = []
_inside: list[int] = []
_leaving = False


def wait(
    call: str, form: Callable[..., int | None], *operands: Any, timeout: float | None = None
) -> Any:
    """Makes a call that waits for memory, and lets other threads run meanwhile.

    Python runs signal handlers in the main thread, and there only between its own instructions:
    without this, Ctrl-C would have no effect during a wait. And finalize unmaps the memory that a
    wait reads. After timeout seconds it raises WaitTimeoutError.
    """
    me = threading.get_ident()
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
    try:
        seconds = float(timeout)
        if seconds >= 0 and not isinstance(timeout, (str, bytes)):
            return int(min(seconds, _LONGEST_S) * 1e9)
    except (TypeError, ValueError):
        pass
    raise ArgumentError(call, f"timeout={timeout!r}", "is not a time", "pass seconds from 0 on")


def _slice(end: int | None) -> int:
    """The nanoseconds until the wait comes back to Python; 0 would be no limit."""
    return _SLICE_NS if end is None else min(_SLICE_NS, max(1, end - time.monotonic_ns()))


def _send_out() -> None:
    """Before finalize: makes sure that no other thread reads memory that will be unmapped."""
    global _leaving
    _leaving = True
    me = threading.get_ident()
    while any(thread != me for thread in list(_inside)):
        time.sleep(0.001)


def _open() -> None:
    global _leaving
    _leaving = False


before_finalize.insert(0, _send_out)
after_finalize.append(_open)
