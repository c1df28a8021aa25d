"""put with a signal."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from shmem._constants import SIGNAL_SET, signal_op
from shmem._contexts import DEFAULT, Context, handle_of
from shmem._copies import outgoing_row
from shmem._errors import DtypeError
from shmem._events import keep
from shmem._numbers import unsigned
from shmem._operands import describe, element
from shmem._runtime import check_pe, library, settle, state
from shmem._streams import StreamLike, stream_of

_SIGNALS = frozenset((np.dtype("int64"), np.dtype("uint64")))


def put_signal(
    dest: Any,
    source: Any,
    signal: Any,
    value: int,
    pe: SupportsIndex,
    *,
    op: str | int = SIGNAL_SET,
    index: SupportsIndex = 0,
    context: Context | None = None,
    stream: StreamLike | None = None,
) -> None:
    """Copies as put does, and then updates element `index` of signal at that PE.

    A PE that sees the signal also sees the data. signal is a symmetric array of int64 or
    uint64; op is "set" or "add".
    """
    _put_signal("put_signal", dest, source, signal, value, pe, op, index, context, stream, False)


def put_signal_nbi(
    dest: Any,
    source: Any,
    signal: Any,
    value: int,
    pe: SupportsIndex,
    *,
    op: str | int = SIGNAL_SET,
    index: SupportsIndex = 0,
    context: Context | None = None,
    stream: StreamLike | None = None,
) -> None:
    """Does as put_signal, but source may be reused only after the next quiet."""
    _put_signal("put_signal_nbi", dest, source, signal, value, pe, op, index, context, stream, True)


def _put_signal(
    call: str,
    dest: Any,
    source: Any,
    signal: Any,
    value: int,
    pe: SupportsIndex,
    op: str | int,
    index: SupportsIndex,
    context: Context | None,
    stream: StreamLike | None,
    nbi: bool,
) -> None:
    functions = library(call)
    address, origin, whole = outgoing_row(call, dest, source)
    n = whole.nbytes
    word = signal_word(call, signal, index)
    ctx = context or DEFAULT
    handle = handle_of(call, ctx)
    pe = check_pe(call, pe, ctx.n_pes)
    number = unsigned(call, value)
    how = signal_op(call, op)
    if stream is not None:
        on = stream_of(call, stream, context)
        streamed = (
            functions.shmemx_putmem_signal_nbi_on_stream
            if nbi
            else functions.shmemx_putmem_signal_on_stream
        )
        streamed(address, origin, n, word, number, how, pe, on)
        keep(whole, on)
    else:
        form = functions.shmem_ctx_putmem_signal_nbi if nbi else functions.shmem_ctx_putmem_signal
        form(handle, address, origin, n, word, number, how, pe)
        if nbi:
            ctx.keep(whole)
    if state.failed:
        settle(call)


def signal_word(call: str, signal: Any, index: SupportsIndex) -> int:
    """The address of a signal."""
    array, address = element(call, "signal", signal, index)
    if array.dtype not in _SIGNALS:
        raise DtypeError(
            call,
            describe("signal", array),
            "a signal has 8 bytes in the order of this machine",
            "use uint64 or int64",
        )
    return address
