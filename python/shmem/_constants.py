"""Comparisons, signal operations and options, by number or by word."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

from shmem import _abi
from shmem._errors import ArgumentError

CMP_EQ = _abi.SHMEM_CMP_EQ
CMP_NE = _abi.SHMEM_CMP_NE
CMP_GT = _abi.SHMEM_CMP_GT
CMP_LE = _abi.SHMEM_CMP_LE
CMP_LT = _abi.SHMEM_CMP_LT
CMP_GE = _abi.SHMEM_CMP_GE
SIGNAL_SET = _abi.SHMEM_SIGNAL_SET
SIGNAL_ADD = _abi.SHMEM_SIGNAL_ADD

Comparison = Literal["==", "!=", ">", "<=", "<", ">="]
SignalOp = Literal["set", "add"]

_COMPARISONS: dict[str | int, int] = {
    "==": CMP_EQ,
    "!=": CMP_NE,
    ">": CMP_GT,
    "<=": CMP_LE,
    "<": CMP_LT,
    ">=": CMP_GE,
    **{n: n for n in (CMP_EQ, CMP_NE, CMP_GT, CMP_LE, CMP_LT, CMP_GE)},
}
_SIGNALS: dict[str | int, int] = {
    "set": SIGNAL_SET,
    "add": SIGNAL_ADD,
    SIGNAL_SET: SIGNAL_SET,
    SIGNAL_ADD: SIGNAL_ADD,
}


def comparison(call: str, cmp: Comparison | int) -> int:
    """The number of a comparison."""
    if not isinstance(cmp, Hashable) or cmp not in _COMPARISONS:
        raise ArgumentError(
            call, f"cmp {cmp!r}", "is not a comparison", "use ==, !=, <, <=, > or >="
        )
    return _COMPARISONS[cmp]


def signal_op(call: str, op: SignalOp | int) -> int:
    """The number of a signal operation."""
    if not isinstance(op, Hashable) or op not in _SIGNALS:
        raise ArgumentError(call, f"op {op!r}", "is not an operation on a signal", "use set or add")
    return _SIGNALS[op]
