"""Contiguous tensors of torch in GPU memory, as the two numbers that a call needs.

Other operands become an array of numpy first, for its shape and strides. For two tensors that takes
some 20 us, as long as two GPUs take to exchange 4 MiB. Tensors that are unusual in any way use that
path, which also raises the errors.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from shmem._dtypes import resolve
from shmem._gpu import heap_gpu
from shmem._runtime import state


class Span:
    """A tensor with contiguous elements, by the names that numpy's arrays have for these fields."""

    __slots__ = ("address", "dtype", "itemsize", "nbytes", "size", "tensor")

    def __init__(self, tensor: Any, dtype: np.dtype[Any]) -> None:
        self.tensor = tensor
        self.dtype = dtype
        self.address = tensor.data_ptr()
        self.size = tensor.numel()
        self.itemsize = dtype.itemsize
        self.nbytes = self.size * self.itemsize

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)


# numpy's dtype by torch's; None for a complex one, whose tensors may have to be conjugated by each
# read (torch's lazy conjugation), so that they take the longer path.
_kinds: dict[Any, np.dtype[Any] | None] = {}


def _kind(dtype: Any) -> np.dtype[Any] | None:
    """The entry of _kinds for a dtype of torch."""
    if dtype not in _kinds:
        _kinds[dtype] = None if dtype.is_complex else resolve("tensor", str(dtype))
    return _kinds[dtype]


def of_tensor(operand: Any) -> Span | None:
    """The Span of a contiguous, plain tensor on the heap's GPU; None for any other operand."""
    if state.heap != "device":
        return None
    torch = sys.modules.get("torch")
    if (
        torch is None
        or type(operand) is not getattr(torch, "Tensor", None)
        or not operand.is_cuda
        or operand.get_device() != heap_gpu()
        or operand.layout is not torch.strided
        or not operand.is_contiguous()
        or operand.is_neg()
    ):
        return None
    kind = _kind(operand.dtype)
    if kind is None:
        return None
    out = Span(operand, kind)
    return out if out.address else None
