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
    """The type of the elements of a new tensor: dtype, or torch's default for None."""
    if dtype is None:
        return torch.get_default_dtype()
    if not isinstance(dtype, torch.dtype):
        remedy = (
            "pass the shape as a tuple" if isinstance(dtype, int) else "pass torch.float32, say"
        )
        raise DtypeError(call, f"dtype {dtype!r}", "is none of torch's", remedy)
    return dtype


def _of_bytes(flat: Any, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    """Bytes of this PE or of another one as a tensor, which keeps the object that has them."""
    if isinstance(flat, DeviceArray):
        tensor = torch.as_tensor(flat, device=f"cuda:{heap_gpu() or 0}")
    else:
        tensor = torch.from_numpy(flat)
    return tensor.view(dtype).reshape(shape)


def symmetric_bytes(call: str, nbytes: int, zero: bool = False) -> torch.Tensor:
    """A tensor of bytes in the heap, which all PEs allocate together."""
    flat = _arrays.make(call, nbytes, "uint8", "gpu" if state.heap == "device" else None, zero)
    return _of_bytes(flat, torch.uint8, (nbytes,))


def _new(call: str, shape: Shape, dtype: Any, zero: bool) -> torch.Tensor:
    """A new tensor in the heap, which all PEs allocate together."""
    kind, sizes = _type(call, dtype), sizes_of(call, shape)
    nbytes = torch.empty((), dtype=kind, device="meta").element_size()
    for n in sizes:
        nbytes *= n
    return symmetric_bytes(call, nbytes, zero).view(kind).reshape(sizes)


def empty(shape: Shape, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Make a tensor in symmetric memory, with any values.

    All PEs make the same tensors in the same order. The memory goes back to the heap when every PE
    has dropped the tensor and its views. The library waits for work on them that torch's current
    stream had before they were dropped; if another stream has such work, wait for that stream
    first.

    Parameters
    ----------
    shape : Shape
        The lengths of the dimensions.
    dtype : torch.dtype, optional
        The type of the elements; torch's default by default.

    Returns
    -------
    torch.Tensor
        The tensor.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    HeapError
        The symmetric heap has no room.
    DtypeError
        A value does not fit the type, or the package has no such type.
    SizeError
        `shape` is not a shape.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    return _new("torch.empty", shape, dtype, zero=False)


def zeros(shape: Shape, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Make a tensor in symmetric memory, all zero on every PE.

    All PEs make the call together, as `empty` says.

    Parameters
    ----------
    shape : Shape
        The lengths of the dimensions.
    dtype : torch.dtype, optional
        The type of the elements; torch's default by default.

    Returns
    -------
    torch.Tensor
        The tensor.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    HeapError
        The symmetric heap has no room.
    DtypeError
        A value does not fit the type, or the package has no such type.
    SizeError
        `shape` is not a shape.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    return _new("torch.zeros", shape, dtype, zero=True)


def full(shape: Shape, value: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Make a tensor in symmetric memory, filled with a value on every PE.

    All PEs make the call together, as `empty` says.

    Parameters
    ----------
    shape : Shape
        The lengths of the dimensions.
    value : Any
        The value, the same on every PE.
    dtype : torch.dtype, optional
        The type of the elements; torch's default by default.

    Returns
    -------
    torch.Tensor
        The tensor.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    HeapError
        The symmetric heap has no room.
    DtypeError
        A value does not fit the type, or the package has no such type.
    SizeError
        `shape` is not a shape.
    PeerError
        A PE is lost, and the job goes on without it.
    """
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
    """out, filled with a value or a copy of a tensor, when all PEs have done so."""
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
    """Make a tensor in symmetric memory, all one on every PE.

    All PEs make the call together, as `empty` says.

    Parameters
    ----------
    shape : Shape
        The lengths of the dimensions.
    dtype : torch.dtype, optional
        The type of the elements; torch's default by default.

    Returns
    -------
    torch.Tensor
        The tensor.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    HeapError
        The symmetric heap has no room.
    DtypeError
        A value does not fit the type, or the package has no such type.
    SizeError
        `shape` is not a shape.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    return full(shape, 1, dtype)


def zeros_like(tensor: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Make a tensor of zeros in symmetric memory, of the shape of another tensor.

    All PEs make the call together, as `empty` says.

    Parameters
    ----------
    tensor : torch.Tensor
        The other tensor.
    dtype : torch.dtype, optional
        The type of the elements; that of the other tensor by default.

    Returns
    -------
    torch.Tensor
        The tensor.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    HeapError
        The symmetric heap has no room.
    DtypeError
        A value does not fit the type, or the package has no such type.
    SizeError
        `shape` is not a shape.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    return _new("torch.zeros_like", tuple(tensor.shape), dtype or tensor.dtype, zero=True)


def array(values: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Make a tensor in symmetric memory with these values.

    All PEs make the call together, as `empty` says. Shape and dtype are the same on all PEs.

    Parameters
    ----------
    values : Any
        The values, which may differ between PEs.
    dtype : torch.dtype, optional
        The type of the elements; that of torch.as_tensor by default.

    Returns
    -------
    torch.Tensor
        The tensor.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    HeapError
        The symmetric heap has no room.
    DtypeError
        A value does not fit the type, or the package has no such type.
    SizeError
        `shape` is not a shape.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    given = torch.as_tensor(values, dtype=dtype)
    return _written(_new("torch.array", tuple(given.shape), given.dtype, zero=False), given)


def ptr(tensor: torch.Tensor, pe: int) -> torch.Tensor | None:
    """Return the same tensor of another PE, for kernels that load and store.

    A kernel of the program takes the data_ptr() of the result.

    Parameters
    ----------
    tensor : torch.Tensor
        A contiguous symmetric tensor.
    pe : int
        The other PE.

    Returns
    -------
    torch.Tensor or None
        The tensor; None if loads and stores do not reach the PE.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    PEError
        There is no PE `pe`.
    SymmetryError
        An array that must be symmetric is not.
    FreedError
        The array was freed.
    LayoutError
        The array is not contiguous.
    """
    mine = _operands.as_array("torch.ptr", "tensor", tensor)
    there = _pointers.ptr(mine, pe)
    if there is None:
        return None
    flat = there.reshape(-1).view("uint8")
    return _of_bytes(flat, tensor.dtype, tuple(tensor.shape))
