"""Element types: their names in the library."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from shmem._errors import DtypeError

Array = NDArray[Any]  # of elements of any type

# Types of GPUs that numpy lacks, and their bytes.
_BYTES = {
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2fnuz": 1,
}
_WORDS = {"half": "float16", "float": "float32"}  # torch's names; numpy's float is a double


def resolve(call: str, dtype: DTypeLike) -> np.dtype[Any]:
    """The dtype for a type that a program requests; a type that numpy lacks becomes bytes.

    If ml_dtypes is installed its types are used, and numpy can compute with them; else the metadata
    of the dtype, which numpy does not compare, has the name.
    """
    text = "" if isinstance(dtype, type) else str(dtype)
    name = text.removeprefix("torch.")
    if name in _BYTES and not isinstance(dtype, np.dtype):
        if importlib.util.find_spec("ml_dtypes") is not None:
            import ml_dtypes

            extra: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
            return extra
        return np.dtype(f"V{_BYTES[name]}", metadata={"name": name})
    if name != text:  # a type of torch
        dtype = _WORDS.get(name, name)
    try:
        out = np.dtype(dtype)
    except (TypeError, ValueError):
        remedy = "pass the shape as a tuple" if isinstance(dtype, int) else "use one of numpy's"
        raise DtypeError(call, f"dtype {dtype!r}", "is not a dtype", remedy) from None
    if out.hasobject or out.itemsize == 0:
        raise DtypeError(
            call,
            f"dtype {out}",
            "its elements are not plain bytes of one size",
            "use numbers, or a dtype of fixed size",
        )
    if out.subdtype is not None:
        base, shape = out.subdtype
        raise DtypeError(
            call, f"dtype {out}", "is an array itself", f"use {base}, and add {shape} to the shape"
        )
    return out


_NUMPY = {
    "float": "f4",
    "double": "f8",
    "longdouble": "g",
    "half": "f2",
    "complexf": "c8",
    "complexd": "c16",
}


def types(names: str) -> dict[np.dtype[Any], str]:
    """The names, by dtype. names are words as in the library's functions, such as "int32 half"."""
    return {np.dtype(_NUMPY.get(name, name)): name for name in names.split()}


def words(function: str, names: str) -> dict[int, tuple[str, np.dtype[Any]]]:
    """The functions for words, by the bytes of a word: each function's name, and the word's dtype.

    function is a pattern of names, with {} for one of the types that names lists.
    """
    return {d.itemsize: (function.format(name), d) for d, name in types(names).items()}


ATOMIC = types("int32 uint32 int64 uint64")
SIGNALS = types("uint64 int64")
# The types of reductions: by and, or, xor; by max and min; by sum and prod.
BITS = {**ATOMIC, **types("int8 uint8 int16 uint16")}
ORDERED = {**BITS, **types("float double longdouble")}
SUMMED = {**ORDERED, **types("complexf complexd")}
# The types of max, min, sum and prod on a stream, by name.
_ON_GPU = types("float double half")
STREAM = {str(d): name for d, name in {**BITS, **_ON_GPU}.items()} | {"bfloat16": "bfloat16"}


def _no_such(call: str, dtype: object, have: Iterable[object]) -> DtypeError:
    """The error for an operation that has no function for a dtype, but for those in have."""
    return DtypeError(
        call, f"an array of {dtype}", "it has no such type", f"use {', '.join(map(str, have))}"
    )


def _type_name(dtype: np.dtype[Any]) -> str:
    """The name of a type, also of one for which numpy has only bytes (resolve)."""
    return str(dtype if dtype.metadata is None else dtype.metadata.get("name", dtype))


def name_of(call: str, dtype: np.dtype[Any], table: dict[np.dtype[Any], str]) -> str:
    """The library's name of a type, if the operation accepts it."""
    name = table.get(dtype)
    if name is None:
        raise _no_such(call, _type_name(dtype), table)
    return name


def name_on_stream(call: str, dtype: np.dtype[Any]) -> str:
    """The library's name of a type, if reductions on a stream accept it."""
    name = _type_name(dtype)
    if name not in STREAM:
        raise _no_such(call, name, STREAM)
    return STREAM[name]
