"""Operands as error messages show them."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

from shmem._spans import Span


def describe(name: str, operand: Any) -> str:
    """An operand as error messages show it."""
    if isinstance(operand, (np.ndarray, Span)):
        return f"{name}, an array of {operand.dtype} of shape {operand.shape}"
    return f"{name}, {type(operand).__name__}"


_short = reprlib.Repr()
_short.maxstring = _short.maxlong = _short.maxother = 60


def brief(value: Any) -> str:
    """A value as error messages show it: only the beginning of a long list."""
    return _short.repr(value)
