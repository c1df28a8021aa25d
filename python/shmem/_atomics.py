"""Atomic operations on one element of a symmetric array at another PE."""

from __future__ import annotations

from collections.abc import Callable
from math import isinf
from typing import Any, SupportsIndex

import numpy as np

from shmem._contexts import DEFAULT, Context, handle_of
from shmem._dtypes import ATOMIC, ATOMIC_EXTENDED, name_of
from shmem._errors import DtypeError
from shmem._near import Forms, is_near, near_element
from shmem._operands import address_of, as_array, brief, element, writable
from shmem._runtime import check_pe, library, quick, settle, state, whole

_GREATEST = {np.dtype(kind): float(np.finfo(kind).max) for kind in ("f4", "f8")}
_LIMITS = {d: (int(np.iinfo(d).min), int(np.iinfo(d).max)) for d in ATOMIC}

_OPERATIONS = {
    "fetch set swap": ATOMIC_EXTENDED,
    "compare_swap inc fetch_inc add fetch_add": ATOMIC,
    "and or xor fetch_and fetch_or fetch_xor": ATOMIC,
}
_FORMS = {
    f"atomic_{name}": Forms(f"atomic_{name}", table)
    for names, table in _OPERATIONS.items()
    for name in names.split()
}
_VALUES = ("cond", "value")  # as errors call them; of one, the last


def _number(call: str, name: str, dtype: np.dtype[Any], value: Any) -> int | float:
    """A value as ctypes takes it; ctypes would cut off what does not fit."""
    if dtype.kind == "f":
        try:
            if isinstance(value, (str, bytes, bytearray)) or np.iscomplexobj(value):
                raise TypeError
            given = float(value)
            if abs(given) > _GREATEST[dtype] and not isinf(given):
                raise OverflowError
            return given
        except (TypeError, ValueError, OverflowError):
            raise DtypeError(
                call, f"{name} {brief(value)}", f"is no {dtype}", "pass a float"
            ) from None
    number = whole(value)
    low, high = _LIMITS[dtype]
    if number is None or not low <= number <= high:
        raise DtypeError(call, f"{name} {brief(value)}", f"is no {dtype}", f"pass {low} to {high}")
    return number


def _call(
    operation: str,
    target: Any,
    pe: SupportsIndex,
    index: SupportsIndex,
    context: Context | None,
    *values: Any,
) -> tuple[Any, np.dtype[Any]]:
    forms = _FORMS[operation]
    if context is None and (address := near_element(target, pe, index)):
        dtype = target.dtype
        quickly, of, low, high = forms[dtype]
        if quickly is not None:
            for value in values:
                if type(value) is not of or not low <= value <= high:
                    break
            else:
                return quickly(address, *values, pe), dtype
    functions = library(operation)
    name = "source" if operation == "atomic_fetch" else "dest"
    array, address = element(operation, name, target, index)
    kind = name_of(operation, array.dtype, forms.table)
    ctx = context or DEFAULT
    handle = handle_of(operation, ctx)
    pe = check_pe(operation, pe, ctx.n_pes)
    operands = [
        _number(operation, name, array.dtype, v)
        for name, v in zip(_VALUES[-len(values) :], values, strict=False)
    ]
    if context is None and is_near(pe, address):
        functions = quick(operation)
    form: Callable[..., Any] = getattr(functions, f"shmem_ctx_{kind}_{operation}")
    result = form(handle, address, *operands, pe)
    if state.failed:
        settle(operation)
    return result, array.dtype


def _fetched(result: tuple[Any, np.dtype[Any]]) -> Any:
    value, dtype = result
    return dtype.type(value)


def atomic_fetch(
    source: Any, pe: SupportsIndex, *, index: SupportsIndex = 0, context: Context | None = None
) -> Any:
    """Reads an element atomically."""
    return _fetched(_call("atomic_fetch", source, pe, index, context))


def atomic_set(
    dest: Any,
    value: Any,
    pe: SupportsIndex,
    *,
    index: SupportsIndex = 0,
    context: Context | None = None,
) -> None:
    """Writes an element atomically."""
    _call("atomic_set", dest, pe, index, context, value)


def atomic_swap(
    dest: Any,
    value: Any,
    pe: SupportsIndex,
    *,
    index: SupportsIndex = 0,
    context: Context | None = None,
) -> Any:
    """Writes an element and answers what it was."""
    return _fetched(_call("atomic_swap", dest, pe, index, context, value))


def atomic_compare_swap(
    dest: Any,
    cond: Any,
    value: Any,
    pe: SupportsIndex,
    *,
    index: SupportsIndex = 0,
    context: Context | None = None,
) -> Any:
    """Writes value if the element is cond; answers what it was."""
    return _fetched(_call("atomic_compare_swap", dest, pe, index, context, cond, value))


def atomic_inc(
    dest: Any, pe: SupportsIndex, *, index: SupportsIndex = 0, context: Context | None = None
) -> None:
    """Adds one to an element."""
    _call("atomic_inc", dest, pe, index, context)


def atomic_fetch_inc(
    dest: Any, pe: SupportsIndex, *, index: SupportsIndex = 0, context: Context | None = None
) -> Any:
    """Adds one to an element and answers what it was."""
    return _fetched(_call("atomic_fetch_inc", dest, pe, index, context))


def atomic_add(
    dest: Any,
    value: Any,
    pe: SupportsIndex,
    *,
    index: SupportsIndex = 0,
    context: Context | None = None,
) -> None:
    """Adds to an element, modulo its width."""
    _call("atomic_add", dest, pe, index, context, value)


def atomic_fetch_add(
    dest: Any,
    value: Any,
    pe: SupportsIndex,
    *,
    index: SupportsIndex = 0,
    context: Context | None = None,
) -> Any:
    """Adds to an element and answers what it was."""
    return _fetched(_call("atomic_fetch_add", dest, pe, index, context, value))


def atomic_and(
    dest: Any,
    value: Any,
    pe: SupportsIndex,
    *,
    index: SupportsIndex = 0,
    context: Context | None = None,
) -> None:
    """Combines an element with value by a bitwise and."""
    _call("atomic_and", dest, pe, index, context, value)


def atomic_or(
    dest: Any,
    value: Any,
    pe: SupportsIndex,
    *,
    index: SupportsIndex = 0,
    context: Context | None = None,
) -> None:
    """Combines an element with value by a bitwise or."""
    _call("atomic_or", dest, pe, index, context, value)


def atomic_xor(
    dest: Any,
    value: Any,
    pe: SupportsIndex,
    *,
    index: SupportsIndex = 0,
    context: Context | None = None,
) -> None:
    """Combines an element with value by a bitwise exclusive or."""
    _call("atomic_xor", dest, pe, index, context, value)


def atomic_fetch_and(
    dest: Any,
    value: Any,
    pe: SupportsIndex,
    *,
    index: SupportsIndex = 0,
    context: Context | None = None,
) -> Any:
    """Does as atomic_and, and answers what the element was."""
    return _fetched(_call("atomic_fetch_and", dest, pe, index, context, value))


def atomic_fetch_or(
    dest: Any,
    value: Any,
    pe: SupportsIndex,
    *,
    index: SupportsIndex = 0,
    context: Context | None = None,
) -> Any:
    """Does as atomic_or, and answers what the element was."""
    return _fetched(_call("atomic_fetch_or", dest, pe, index, context, value))


def atomic_fetch_xor(
    dest: Any,
    value: Any,
    pe: SupportsIndex,
    *,
    index: SupportsIndex = 0,
    context: Context | None = None,
) -> Any:
    """Does as atomic_xor, and answers what the element was."""
    return _fetched(_call("atomic_fetch_xor", dest, pe, index, context, value))


def atomic_fetch_add_nbi(
    fetch: Any,
    dest: Any,
    value: Any,
    pe: SupportsIndex,
    *,
    index: SupportsIndex = 0,
    context: Context | None = None,
) -> None:
    """Does as atomic_fetch_add; the old value is in fetch after the next quiet.

    fetch is an array of the same dtype, of which the first element is written.
    """
    call = "atomic_fetch_add_nbi"
    functions = library(call)
    array, address = element(call, "dest", dest, index)
    kind = name_of(call, array.dtype, ATOMIC)
    into = as_array(call, "fetch", fetch)
    writable(call, "fetch", into)
    if into.dtype != array.dtype or into.size < 1:
        raise DtypeError(call, "fetch", f"it has no {array.dtype}", "pass an array of one")
    ctx = context or DEFAULT
    pe = check_pe(call, pe, ctx.n_pes)
    operand = _number(call, "value", array.dtype, value)
    form: Callable[..., None] = getattr(functions, f"shmem_ctx_{kind}_{call}")
    form(handle_of(call, ctx), address_of(into), address, operand, pe)
    ctx.keep(into)
    if state.failed:
        settle(call)
