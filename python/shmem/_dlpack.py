"""DLPack: capsules that give another package access to memory, without a copy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

CUDA = 2  # kDLCUDA

# DLPack's codes of element types (kDLInt and so on): by numpy's kind; types that numpy lacks, by
# name.
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_NAMED = {
    "bfloat16": 4,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
}


class _Tensor(ctypes.Structure):
    """DLTensor of dlpack.h; device and number are its DLDevice, code to lanes its DLDataType."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32),
        ("number", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    """DLManagedTensor of dlpack.h, to which a capsule points."""

    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER))


# The objects that capsules refer to, until their consumer has called the deleter.
_kept: dict[int, tuple[Any, ...]] = {}


_NAME = b"dltensor"  # of a capsule that no consumer has accepted yet
_api = ctypes.PyDLL(None)  # Python's own functions, which need the interpreter's lock


# _release and _destroy may be called when the interpreter ends and the names of this module are
# gone, so their default arguments keep the objects that they need.
def _release(at: int | None, kept: dict[int, tuple[Any, ...]] = _kept) -> None:
    """The deleter, which a consumer calls with the address of the _Managed: drops its objects."""
    kept.pop(at or 0, None)


def _destroy(
    capsule: int | None,
    api: ctypes.PyDLL = _api,
    name: bytes = _NAME,
    release: Callable[[int | None], None] = _release,
) -> None:
    """The destructor of a capsule: drops its objects if it had no consumer."""
    # A consumer renames the capsule that it accepts, and calls the deleter.
    if api.PyCapsule_IsValid(capsule, name):
        release(api.PyCapsule_GetPointer(capsule, name))


_deleter = _DELETER(_release)
_destructor = _DESTRUCTOR(_destroy)
# One reference too many: C code may call these functions until the process ends.
for _thunk in (_deleter, _destructor):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_thunk))
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, _DESTRUCTOR]
_api.PyCapsule_IsValid.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]


def code_of(kind: str, name: str) -> int | None:
    """The code of an element type, None if DLPack has none."""
    return _NAMED.get(name, _CODES.get(kind))


def capsule(
    owner: Any,
    address: int,
    number: int,
    code: int,
    itemsize: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
) -> Any:
    """A capsule of memory at address on the GPU of this number; its owner lives as long.

    code is that of code_of, and strides are in bytes.
    """
    n = len(shape)
    lengths = (ctypes.c_int64 * n)(*shape)
    steps = (ctypes.c_int64 * n)(*(s // itemsize for s in strides))
    managed = _Managed()
    t = managed.tensor
    t.data, t.device, t.number, t.ndim = address, CUDA, number, n
    t.code, t.bits, t.lanes = code, 8 * itemsize, 1
    t.shape = ctypes.cast(lengths, ctypes.POINTER(ctypes.c_int64))
    t.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
    managed.deleter = _deleter
    at = ctypes.addressof(managed)
    _kept[at] = (managed, lengths, steps, owner)
    return _api.PyCapsule_New(at, _NAME, _destructor)
