"""put and get, p and g, and put with a signal."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy as np

from shmem import _memory, _strided
from shmem._constants import SIGNAL_SET, signal_op
from shmem._contexts import DEFAULT, Context, handle_of
from shmem._device import Ghost, of_cpu
from shmem._dtypes import BITS, types
from shmem._errors import DtypeError, LayoutError
from shmem._events import keep
from shmem._memory import Array
from shmem._near import Forms, is_near, near_element
from shmem._operands import (
    HEAD,
    IS_DIRECT,
    address_of,
    as_array,
    as_source,
    brief,
    check_dtype,
    check_lengths,
    check_span,
    describe,
    element,
    not_contiguous,
    pointer_at,
    refuse_address,
    symmetric,
    writable,
)
from shmem._runtime import after_init, check_pe, library, quick, settle, state, whole
from shmem._spans import Span, of_tensor
from shmem._streams import StreamLike, stream_of

# A quick call holds the interpreter's lock while it copies; this many bytes take 1 us. None
# is made where numpy's own object does not say where its data is.
QUICK = 8192 if IS_DIRECT else -1

_find = _memory.find
_ndarray = np.ndarray
_near = state.near

# The quick calls of the library that is loaded; nobody is near before.
_putmem: Callable[..., None]
_getmem: Callable[..., None]

# A float is a double on its way through ctypes, which makes another NaN of some.
_READS = Forms(quick, "shmem_{}_g", {**BITS, **types("double")})
_WRITES = Forms(quick, "shmem_{}_p", {**BITS, **types("float double")})

_SIGNALS = frozenset((np.dtype("int64"), np.dtype("uint64")))

# Numbers of bytes as they take them.
_sizes: dict[int, ctypes.c_size_t] = {}


def _size(n: int) -> ctypes.c_size_t:
    return _sizes.setdefault(n, ctypes.c_size_t(n))


def _open() -> None:
    global _putmem, _getmem
    assert state.loaded is not None
    _putmem, _getmem = map(state.loaded.untyped, ("shmem_putmem", "shmem_getmem"))


after_init.append(_open)


def put(
    dest: Any,
    source: Any,
    pe: SupportsIndex,
    *,
    context: Context | None = None,
    stream: StreamLike | None = None,
) -> None:
    """Copies source into dest at another PE, and returns when source may be reused.

    dest is symmetric, of the same dtype, and at least as long. Slices with strides are
    copied as they are, and then have to have one shape.
    """
    # What costs 0.5 us of a put is in here once more: both are plain arrays, and the PE
    # is a neighbour.
    if (
        type(dest) is _ndarray
        and type(source) is _ndarray
        and type(pe) is int
        and pe in _near
        and dest.dtype is source.dtype
        and context is None
        and stream is None
        and (n := source.nbytes) <= QUICK
        and n <= dest.nbytes
        and dest.flags.c_contiguous
        and source.flags.c_contiguous
    ):
        to = pointer_at(id(dest) + HEAD)
        address = to.value or 0
        heap = _memory.heap
        if heap.low <= address and address + n <= heap.high or _find(address, n) is not None:
            _putmem(to, pointer_at(id(source) + HEAD), _sizes.get(n) or _size(n), pe)
            return
    _put("put", dest, source, pe, context, stream, nbi=False)


def put_nbi(
    dest: Any,
    source: Any,
    pe: SupportsIndex,
    *,
    context: Context | None = None,
    stream: StreamLike | None = None,
) -> None:
    """Does as put, but source may be reused only after the next quiet.

    Temporary arrays are kept until then.
    """
    _put("put_nbi", dest, source, pe, context, stream, nbi=True)


def _row(call: str, dest: Any, source: Any, there: Any) -> tuple[int, int, Array | Span] | None:
    """Where both tensors of a GPU are, and the one that is not at the other PE.

    None where they are something else, or not as they should be.
    """
    to = of_tensor(dest)
    data = None if to is None else of_tensor(source)
    if to is None or data is None or to.dtype != data.dtype:
        return None
    here, other = (data, to) if there is dest else (to, data)
    check_lengths(call, to, data, here.size)
    if _find(other.address, here.nbytes) is None:
        return None
    return to.address, data.address, here


def _has_gaps(call: str, to: Array, data: Array) -> LayoutError:
    """The error where strides are not taken."""
    name, which = ("source", data) if to.flags.c_contiguous else ("dest", to)
    return not_contiguous(call, name, which, "pass slices without strides")


def _put(
    call: str,
    dest: Any,
    source: Any,
    pe: SupportsIndex,
    context: Context | None,
    stream: StreamLike | None,
    nbi: bool,
) -> None:
    functions = library(call)
    ctx = context or DEFAULT
    handle = handle_of(call, ctx)
    pe = check_pe(call, pe, ctx.n_pes)
    row = _row(call, dest, source, dest)
    if row is None:
        to = as_array(call, "dest", dest)
        data = as_source(call, source, to.dtype)
        if to.flags.c_contiguous and data.flags.c_contiguous:
            check_lengths(call, to, data, data.size)
            there = _memory.place(address_of(to), data.nbytes, to.size)
            if there is None:
                raise refuse_address(call, "dest", to, address_of(to))
            row = there, address_of(data), data
    if row is not None:
        address, origin, whole = row
        if stream is not None:
            on = stream_of(call, stream, context)
            form = (
                functions.shmemx_putmem_nbi_on_stream if nbi else functions.shmemx_putmem_on_stream
            )
            form(address, origin, whole.nbytes, pe, on)
            keep(whole, on)
        elif nbi:
            functions.shmem_ctx_putmem_nbi(handle, address, origin, whole.nbytes, pe)
            ctx.keep(whole)
        else:
            functions.shmem_ctx_putmem(handle, address, origin, whole.nbytes, pe)
            if context is None:
                is_near(pe, address)
    else:
        if stream is not None:
            raise _has_gaps(call, to, data)
        to, data = _strided.same_shape(call, to, data)
        to, data = _strided.forwards(call, "dest", to, data)
        if not _strided.runs_forwards(data):
            data = np.ascontiguousarray(of_cpu(call, "source that runs backwards", data))
        start = check_span(call, "dest", to)
        origin = address_of(data)
        for at, of, step, stride, run, blocks in _strided.pieces(to, data):
            if blocks == 1:
                functions.shmem_ctx_putmem(handle, start + at, origin + of, run, pe)
            else:
                functions.shmem_ctx_ibput8(
                    handle, start + at, origin + of, step, stride, run, blocks, pe
                )
    if state.failed:
        settle(call)


def get(
    dest: Any,
    source: Any,
    pe: SupportsIndex,
    *,
    context: Context | None = None,
    stream: StreamLike | None = None,
) -> None:
    """Fills dest with what source has at another PE, and returns when it is there.

    source is symmetric, of the same dtype, and at least as long as dest. Slices with
    strides are copied as they are, and then have to have one shape.
    """
    if (
        type(dest) is _ndarray
        and type(source) is _ndarray
        and type(pe) is int
        and pe in _near
        and dest.dtype is source.dtype
        and context is None
        and stream is None
        and (n := dest.nbytes) <= QUICK
        and n <= source.nbytes
        and dest.flags.carray
        and source.flags.c_contiguous
    ):
        data = pointer_at(id(source) + HEAD)
        address = data.value or 0
        heap = _memory.heap
        if heap.low <= address and address + n <= heap.high or _find(address, n) is not None:
            _getmem(pointer_at(id(dest) + HEAD), data, _sizes.get(n) or _size(n), pe)
            return
    _get("get", dest, source, pe, context, stream, nbi=False)


def get_nbi(
    dest: Any,
    source: Any,
    pe: SupportsIndex,
    *,
    context: Context | None = None,
    stream: StreamLike | None = None,
) -> None:
    """Does as get, but the data is in dest only after the next quiet. Both are contiguous."""
    _get("get_nbi", dest, source, pe, context, stream, nbi=True)


def _get(
    call: str,
    dest: Any,
    source: Any,
    pe: SupportsIndex,
    context: Context | None,
    stream: StreamLike | None,
    nbi: bool,
) -> None:
    functions = library(call)
    ctx = context or DEFAULT
    handle = handle_of(call, ctx)
    pe = check_pe(call, pe, ctx.n_pes)
    row = _row(call, dest, source, source)
    if row is None:
        to = as_array(call, "dest", dest)
        writable(call, "dest", to)
        data = as_array(call, "source", source)
        check_dtype(call, "source", data, to.dtype)
        if to.flags.c_contiguous and data.flags.c_contiguous:
            check_lengths(call, to, data, to.size)
            there = _memory.place(address_of(data), to.nbytes, data.size)
            if there is None:
                raise refuse_address(call, "source", data, address_of(data))
            row = address_of(to), there, to
    if row is not None:
        into, address, whole = row
        if stream is not None:
            on = stream_of(call, stream, context)
            form = (
                functions.shmemx_getmem_nbi_on_stream if nbi else functions.shmemx_getmem_on_stream
            )
            form(into, address, whole.nbytes, pe, on)
            keep(whole, on)
        elif nbi:
            functions.shmem_ctx_getmem_nbi(handle, into, address, whole.nbytes, pe)
            ctx.keep(whole)
        else:
            functions.shmem_ctx_getmem(handle, into, address, whole.nbytes, pe)
            if context is None:
                is_near(pe, address)
    else:
        if nbi or stream is not None:
            raise _has_gaps(call, to, data)
        to, data = _strided.same_shape(call, to, data)
        data, to = _strided.forwards(call, "source", data, to)
        array = to
        if not _strided.runs_forwards(to):
            of_cpu(call, "dest that runs backwards", to)
            array = np.empty(to.shape, to.dtype)
        start = check_span(call, "source", data)
        origin = address_of(array)
        for at, of, step, stride, run, blocks in _strided.pieces(array, data):
            if blocks == 1:
                functions.shmem_ctx_getmem(handle, origin + at, start + of, run, pe)
            else:
                functions.shmem_ctx_ibget8(
                    handle, origin + at, start + of, step, stride, run, blocks, pe
                )
        if array is not to:
            to[...] = array
    if state.failed:
        settle(call)


def p(
    dest: Any,
    value: Any,
    pe: SupportsIndex,
    *,
    index: SupportsIndex = 0,
    context: Context | None = None,
) -> None:
    """Writes one element of dest, which arrives whole where it has at most 8 bytes."""
    if context is None and (address := near_element(dest, pe, index)):
        form, of, low, high = _WRITES[dest.dtype]
        if form is not None and type(value) is of and low <= value <= high:
            form(address, value, pe)
            return
    functions = library("p")
    array, address = element("p", "dest", dest, index)
    one = as_source("p", value, array.dtype, "value")
    if one.size != 1:
        raise DtypeError("p", describe("value", one), "it is not one element", "use put")
    ctx = context or DEFAULT
    handle = handle_of("p", ctx)
    pe = check_pe("p", pe, ctx.n_pes)
    match 0 if isinstance(one, Ghost) else one.dtype.itemsize:
        case 1:
            functions.shmem_ctx_uint8_p(handle, address, int(one.view("u1").item()), pe)
        case 2:
            functions.shmem_ctx_uint16_p(handle, address, int(one.view("u2").item()), pe)
        case 4:
            functions.shmem_ctx_uint32_p(handle, address, int(one.view("u4").item()), pe)
        case 8:
            functions.shmem_ctx_uint64_p(handle, address, int(one.view("u8").item()), pe)
        case _:
            functions.shmem_ctx_putmem(handle, address, address_of(one), one.nbytes, pe)
    if context is None:
        is_near(pe, address)
    if state.failed:
        settle("p")


def g(
    source: Any, pe: SupportsIndex, *, index: SupportsIndex = 0, context: Context | None = None
) -> Any:
    """Reads one element of source at another PE; a scalar of numpy."""
    if context is None and (address := near_element(source, pe, index)):
        form = _READS[source.dtype][0]
        if form is not None:
            return source.dtype.type(form(address, pe))
    functions = library("g")
    array, address = element("g", "source", source, index)
    ctx = context or DEFAULT
    handle = handle_of("g", ctx)
    pe = check_pe("g", pe, ctx.n_pes)
    one: Array = np.empty((), array.dtype)
    match array.itemsize:
        case 1:
            one.view("u1")[...] = functions.shmem_ctx_uint8_g(handle, address, pe)
        case 2:
            one.view("u2")[...] = functions.shmem_ctx_uint16_g(handle, address, pe)
        case 4:
            one.view("u4")[...] = functions.shmem_ctx_uint32_g(handle, address, pe)
        case 8:
            one.view("u8")[...] = functions.shmem_ctx_uint64_g(handle, address, pe)
        case n:
            functions.shmem_ctx_getmem(handle, address_of(one), address, n, pe)
    if context is None:
        is_near(pe, address)
    if state.failed:
        settle("g")
    return one[()]


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
    row = _row(call, dest, source, dest)
    if row is None:
        to, address = symmetric(call, "dest", dest)
        data = as_source(call, source, to.dtype)
        if not data.flags.c_contiguous:
            raise not_contiguous(call, "source", data)
        check_lengths(call, to, data, data.size)
        row = address, address_of(data), data
    address, origin, whole = row
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


def unsigned(call: str, value: int) -> int:
    """A signal's value: 64 bits, of which a negative number is the upper half."""
    number = whole(value)
    if number is None or not -(1 << 63) <= number < 1 << 64:
        raise DtypeError(
            call, f"value {brief(value)}", "is no number of 64 bits", "pass such an int"
        )
    return number & (1 << 64) - 1
