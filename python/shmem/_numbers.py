"""Numbers in the types of the library; ctypes would cut off bits that do not fit."""

from __future__ import annotations

from math import isinf
from typing import Any

import numpy as np

from shmem._describe import brief, describe
from shmem._dtypes import ATOMIC, Array
from shmem._errors import DtypeError
from shmem._operands import as_source
from shmem._runtime import whole

_GREATEST = {np.dtype(kind): float(np.finfo(kind).max) for kind in ("f4", "f8")}
_LIMITS = {d: (int(np.iinfo(d).min), int(np.iinfo(d).max)) for d in ATOMIC}


def number(call: str, name: str, dtype: np.dtype[Any], value: Any) -> int | float:
    """A value of the program as a number of this dtype; an error if it does not fit."""
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
                call, f"{name} {brief(value)}", f"is not a {dtype}", "pass a float"
            ) from None
    integer = whole(value)
    low, high = _LIMITS[dtype]
    if integer is None or not low <= integer <= high:
        raise DtypeError(
            call, f"{name} {brief(value)}", f"is not a {dtype}", f"pass {low} to {high}"
        )
    return integer


def unsigned(call: str, value: Any) -> int:
    """A signal's value: 64 bits; a negative number stands for the upper half of the range."""
    given = whole(value)
    if given is None or not -(1 << 63) <= given < 1 << 64:
        raise DtypeError(
            call, f"value {brief(value)}", "is not an int of 64 bits", "pass such an int"
        )
    return given & (1 << 64) - 1


def one_of(call: str, name: str, value: Any, dtype: np.dtype[Any]) -> Array:
    """A value of any dtype, as an array of one element."""
    one = as_source(call, value, dtype, name)
    if one.size != 1:
        raise DtypeError(call, describe(name, one), "it is not one element", "use put")
    return one
