"""Order, barriers, and waiting for memory that other PEs write."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy as np

from shmem._constants import comparison
from shmem._contexts import DEFAULT, Context, handle_of
from shmem._device import of_cpu
from shmem._dtypes import ATOMIC, name_of
from shmem._errors import DtypeError, SizeError, StateError
from shmem._memory import Array
from shmem._numbers import number, unsigned
from shmem._operands import address_of, as_source, describe, element, signal_word, symmetric
from shmem._runtime import (
    after_finalize,
    before_finalize,
    library,
    quick,
    refuse,
    settle,
    state,
)
from shmem._streams import StreamLike, stream_of

_NONE = (1 << 64) - 1  # SIZE_MAX: no index


def quiet(*, context: Context | None = None, stream: StreamLike | None = None) -> None:
    """Waits until this PE's operations are complete at the others."""
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
    """Orders this PE's earlier operations to each PE before its later ones to that PE."""
    library("fence").shmem_ctx_fence(handle_of("fence", context or DEFAULT))
    if state.failed:
        settle("fence")


def barrier_all(*, stream: StreamLike | None = None) -> None:
    """Waits until every PE has called it and all operations before it are complete."""
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
    """Waits until every PE has called it; it completes only plain stores."""
    functions = library("sync_all")
    if stream is not None:
        functions.shmemx_sync_all_on_stream(stream_of("sync_all", stream))
        return
    functions.shmem_sync_all()
    if state.failed:
        settle("sync_all")


# ------------------------------------------------------------------- signals

# How long a wait keeps the main thread from the handler of a signal that came just before it
# slept, and finalize from going on; a signal that comes later ends the sleep.
_SLICE_NS = 100_000_000

# The threads that wait, and of these those that are in the library; several times those whose
# handlers of signals wait, too.
_waiting: list[int] = []
_inside: list[int] = []
_leaving = False


def _wait(call: str, form: Callable[..., int | None], *operands: Any) -> Any:
    """Makes a call that waits for memory, and lets others have their turn meanwhile.

    Python runs handlers of signals in the main thread, and there between its own instructions
    only: Ctrl-C in a wait would else do nothing for as long as that takes. And finalize takes
    away the memory that is looked at.
    """
    me = threading.get_ident()
    limit = quick(call).shmemx_wait_limit
    _waiting.append(me)
    try:
        limit(_SLICE_NS)
        while True:
            _inside.append(me)
            try:
                if state.count == 0:
                    raise refuse(call)  # another thread has finalized, or a handler
                if _leaving:
                    raise StateError(
                        call, "", "shmem.finalize was called while it waited", "end the wait first"
                    )
                answer = form(*operands)
            finally:
                _inside.remove(me)
            if limit(_SLICE_NS) == 0:
                return answer
    finally:
        _waiting.remove(me)
        limit(_SLICE_NS if me in _waiting else 0)


def _send_out() -> None:
    """Before finalize: sees to it that no other thread looks at memory that goes."""
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


def signal_wait_until(
    signal: Any,
    cmp: str | int,
    value: int,
    *,
    index: SupportsIndex = 0,
    stream: StreamLike | None = None,
) -> int:
    """Waits until a signal of this PE compares as asked; answers what ended the wait.

    Signals are compared as unsigned numbers, also those of int64: -1 is the greatest. On a
    stream it is the stream that waits, and the answer is value; ">=" is that of a counter
    there, and holds where the signal is less than 2^63 ahead of value.
    """
    call = "signal_wait_until"
    functions = library(call)
    address = signal_word(call, signal, index)
    how, number = comparison(call, cmp), unsigned(call, value)
    if stream is not None:
        functions.shmemx_signal_wait_until_on_stream(address, how, number, stream_of(call, stream))
        return number
    answer: int = _wait(call, functions.shmem_signal_wait_until, address, how, number)
    if state.failed:
        settle(call)
    return answer


# ------------------------------------------------------------------- waiting


def wait_until(
    ivar: Any,
    cmp: str | int,
    value: Any,
    *,
    index: SupportsIndex = 0,
    stream: StreamLike | None = None,
) -> None:
    """Waits until an element of this PE compares as asked: `wait_until(flags, ">=", 2)`.

    ivar is a symmetric array of int32, int64, uint32 or uint64, which other PEs write.
    """
    call = "wait_until"
    functions = library(call)
    array, address = element(call, "ivar", ivar, index)
    kind = name_of(call, array.dtype, ATOMIC)
    how, operand = comparison(call, cmp), number(call, "value", array.dtype, value)
    form: Callable[..., None]
    if stream is not None:
        form = getattr(functions, f"shmemx_{kind}_wait_until_on_stream")
        form(address, how, operand, stream_of(call, stream))
        return
    _wait(call, getattr(functions, f"shmem_{kind}_wait_until"), address, how, operand)
    if state.failed:
        settle(call)


def test(ivar: Any, cmp: str | int, value: Any, *, index: SupportsIndex = 0) -> bool:
    """Tells at once whether an element of this PE compares as asked."""
    # Not a quick call: one that finds nothing may drive the network.
    functions = library("test")
    array, address = element("test", "ivar", ivar, index)
    kind = name_of("test", array.dtype, ATOMIC)
    how, operand = comparison("test", cmp), number("test", "value", array.dtype, value)
    form: Callable[..., int] = getattr(functions, f"shmem_{kind}_test")
    answer = form(address, how, operand) != 0
    if state.failed:
        settle("test")
    return answer


def _at_once(_call: str, form: Callable[..., int | None], *operands: Any) -> Any:
    return form(*operands)


def _set(
    call: str, ivars: Any, cmp: str | int, values: Any, status: Any, places: bool
) -> tuple[int, Array]:
    """One of the calls over an array of variables: its answer, and the indices."""
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
    room = [address_of(indices)] if places else []
    made = _wait if call.startswith("wait") else _at_once
    if not isinstance(values, (list, tuple)) and np.ndim(values) == 0:
        operand: int | float = number(call, "value", array.dtype, values)
        form = getattr(functions, f"shmem_{kind}_{call}")
        answer = made(call, form, address, n, *room, mask, how, operand)
    else:
        given = of_cpu(call, "values", as_source(call, values, array.dtype, "values"))
        wanted = np.ascontiguousarray(given)
        _same_size(call, "values", wanted, n)
        form = getattr(functions, f"shmem_{kind}_{call}_vector")
        answer = made(call, form, address, n, *room, mask, how, address_of(wanted))
    if state.failed:
        settle(call)
    return answer, indices


def _mask(call: str, status: Any) -> Array:
    try:
        given = np.asarray(status)
    except (TypeError, ValueError):
        given = np.asarray(None)
    if given.dtype.kind not in "biuf":
        raise DtypeError(call, describe("status", status), "it has no numbers", "pass ints")
    return np.ascontiguousarray(given != 0, dtype=np.int32)


def _same_size(call: str, name: str, array: Array, n: int) -> None:
    if array.size != n:
        raise SizeError(
            call, describe(name, array), f"ivars has {n} elements", "pass one for each of them"
        )


def wait_until_all(ivars: Any, cmp: str | int, values: Any, *, status: Any = None) -> None:
    """Waits until all elements compare as asked.

    values is one number, or one for each element; status, where given, is non-zero for
    elements that do not count.
    """
    _set("wait_until_all", ivars, cmp, values, status, places=False)


def wait_until_any(ivars: Any, cmp: str | int, values: Any, *, status: Any = None) -> int | None:
    """Waits until one element compares as asked; answers its index, None when none counts."""
    answer, _ = _set("wait_until_any", ivars, cmp, values, status, places=False)
    return None if answer == _NONE else answer


def wait_until_some(ivars: Any, cmp: str | int, values: Any, *, status: Any = None) -> Array:
    """Waits until at least one element compares as asked; answers the indices of all that do."""
    n, indices = _set("wait_until_some", ivars, cmp, values, status, places=True)
    return indices[:n].astype(np.intp)


def test_all(ivars: Any, cmp: str | int, values: Any, *, status: Any = None) -> bool:
    """Tells at once whether all elements compare as asked."""
    return _set("test_all", ivars, cmp, values, status, places=False)[0] != 0


def test_any(ivars: Any, cmp: str | int, values: Any, *, status: Any = None) -> int | None:
    """The index of an element that compares as asked, or None."""
    answer, _ = _set("test_any", ivars, cmp, values, status, places=False)
    return None if answer == _NONE else answer


def test_some(ivars: Any, cmp: str | int, values: Any, *, status: Any = None) -> Array:
    """The indices of the elements that compare as asked."""
    n, indices = _set("test_some", ivars, cmp, values, status, places=True)
    return indices[:n].astype(np.intp)
