"""Tensors in symmetric memory."""

from __future__ import annotations

from typing import Any

import torch

from shmem import _arrays, _operands, _pointers
from shmem._device import DeviceArray
from shmem._errors import DtypeError
from shmem._gpu import heap_gpu
from shmem._runtime import library, settle, state
from shmem._shapes import Shape, sizes_of


def _type(call: str, dtype: Any) -> torch.dtype:
    if dtype is None:
        return torch.get_default_dtype()
    if not isinstance(dtype, torch.dtype):
        remedy = (
            "pass the shape as a tuple" if isinstance(dtype, int) else "pass torch.float32, say"
        )
        raise DtypeError(call, f"dtype {dtype!r}", "is none of torch's", remedy)
    return dtype


def _of_bytes(flat: Any, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    """Bytes of this PE or another as a tensor; it keeps them."""
    if isinstance(flat, DeviceArray):
        tensor = torch.as_tensor(flat, device=f"cuda:{heap_gpu() or 0}")
    else:
        tensor = torch.from_numpy(flat)
    return tensor.view(dtype).reshape(shape)


def symmetric_bytes(call: str, nbytes: int, zero: bool = False) -> torch.Tensor:
    """Bytes of the heap, which all PEs allocate together."""
    flat = _arrays.make(call, nbytes, "uint8", "gpu" if state.heap == "device" else None, zero)
    return _of_bytes(flat, torch.uint8, (nbytes,))


def _new(call: str, shape: Shape, dtype: Any, zero: bool) -> torch.Tensor:
    kind, sizes = _type(call, dtype), sizes_of(call, shape)
    nbytes = torch.empty((), dtype=kind, device="meta").element_size()
    for n in sizes:
        nbytes *= n
    return symmetric_bytes(call, nbytes, zero).view(kind).reshape(sizes)


def empty(shape: Shape, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Makes a tensor in symmetric memory, with any values, of torch's default dtype by default.

    All PEs make the same tensors in the same order. The memory goes back to the heap when every PE
    has dropped the tensor and its views. The library waits for work on them that torch's current
    stream had before they were dropped; if another stream has such work, wait for that stream
    first.
    """
    return _new("torch.empty", shape, dtype, zero=False)


def zeros(shape: Shape, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Makes a tensor in symmetric memory, all zero on every PE; otherwise as `empty`."""
    return _new("torch.zeros", shape, dtype, zero=True)


def full(shape: Shape, value: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Makes a tensor in symmetric memory, all value on every PE; otherwise as `empty`."""
    kind = _type("torch.full", dtype)
    # Checked before the allocation, after which the other PEs would believe the tensor to be ready.
    try:
        one = torch.empty((), dtype=kind).fill_(value)
        is_whole = not (kind.is_floating_point or kind.is_complex or kind is torch.bool)
        if is_whole and one.item() != value:
            raise ValueError("it would be cut off")
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        raise DtypeError(
            "torch.full", f"value {value!r}", f"it is not of {kind}: {error}", "convert it"
        ) from None
    return _written(_new("torch.full", shape, kind, zero=False), value)


def _written(out: torch.Tensor, value: Any) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        out.copy_(value.detach())
    else:
        out.fill_(value)
    # A neighbour may write into the tensor as soon as it knows that these writes are done.
    if out.is_cuda:
        torch.cuda.current_stream(out.device).synchronize()
    library("torch.full").shmem_sync_all()
    settle("torch.full")
    return out


def ones(shape: Shape, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Makes a tensor in symmetric memory, all one on every PE; otherwise as `empty`."""
    return full(shape, 1, dtype)


def zeros_like(tensor: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Makes zeros, as `zeros`, of the shape and the dtype of another tensor."""
    return _new("torch.zeros_like", tuple(tensor.shape), dtype or tensor.dtype, zero=True)


def array(values: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Makes a tensor in symmetric memory with these values, which may differ between PEs.

    Shape and dtype, which are those of torch.as_tensor unless dtype is given, are the same on all
    PEs; otherwise as `empty`.
    """
    given = torch.as_tensor(values, dtype=dtype)
    return _written(_new("torch.array", tuple(given.shape), given.dtype, zero=False), given)


def ptr(tensor: torch.Tensor, pe: int) -> torch.Tensor | None:
    """The same tensor of another PE, for kernels that load and store; None if none can.

    The program's own kernels take its data_ptr().
    """
    mine = _operands.as_array("torch.ptr", "tensor", tensor)
    there = _pointers.ptr(mine, pe)
    if there is None:
        return None
    flat = there.reshape(-1).view("uint8")
    return _of_bytes(flat, tensor.dtype, tuple(tensor.shape))
