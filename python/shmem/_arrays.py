"""Symmetric arrays: the functions that make them and free them."""

from __future__ import annotations

import gc
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from shmem import _blocks, _device, _events, _room
from shmem._addresses import address_of, refuse_address
from shmem._describe import brief, describe
from shmem._device import Device
from shmem._dtypes import Array, resolve
from shmem._errors import DtypeError, SizeError, StateError, SymmetryError
from shmem._operands import as_array, numbers
from shmem._protocols import Memory
from shmem._reclaim import Owner, agree, leave, prepare
from shmem._runtime import library, lock, settle, state
from shmem._shapes import Shape, sizes_of

# A dtype that type checkers know, so that they know the array's.
S = TypeVar("S", bound=np.generic)
Kind = type[S] | np.dtype[S]


def adopt(array: Array, address: int, symmetric: int, length: int) -> Array:
    """A new array on the memory of an array that was registered.

    address is that of the first element, symmetric and length the place in the heap and the bytes
    of the registered pages. The block keeps the program's array until the pages are unregistered.
    """
    block = _blocks.enter(address, array.nbytes)
    block.symmetric, block.length, block.keeps = symmetric, length, array
    return _array_of(block, array.shape, array.dtype)


def _allocate(call: str, nbytes: int, zero: bool) -> _blocks.Block:
    """A new block of the heap, which all PEs allocate together; the caller has the lock."""
    functions = library(call)
    if state.heap == "device" and _events.in_graph():
        raise StateError(
            call,
            "",
            "the current stream is captured, and a graph does not keep symmetric memory",
            "make it before the capture; of shmem.torch's collectives pass out=",
        )
    prepare(call)
    take = max(nbytes, 1)  # an array without elements has a place, too
    address = functions.shmem_calloc(1, take) if zero else functions.shmem_malloc(take)
    settle(call)
    if address == 0:
        # The result is the same on every PE, so all of them come here. A garbage collection may
        # free enough: arrays that only a cycle of references keeps.
        gc.collect()
        if agree(call, wait=True):
            address = functions.shmem_calloc(1, take) if zero else functions.shmem_malloc(take)
            settle(call)
        else:
            # As in an allocation: the next vote begins after every PE has read the result of this.
            functions.shmem_sync_all()
    if address == 0:
        raise _room.error(call, f"{nbytes} bytes", take)
    return _blocks.enter(address, nbytes)


def _array(call: str, shape: Shape, dtype: DTypeLike, zero: bool) -> Array:
    """A new array of the heap: of numpy, also where the CPU cannot access the heap."""
    kind = resolve(call, dtype)
    sizes = sizes_of(call, shape)
    nbytes = kind.itemsize
    for n in sizes:
        nbytes *= n
    with lock:
        block = _allocate(call, nbytes, zero)
    return _array_of(block, sizes, kind)


def _array_of(block: _blocks.Block, sizes: tuple[int, ...], kind: np.dtype[Any]) -> Array:
    """A block as an array; the block is dropped when the array and its views have gone."""
    out: Array = np.asarray(Owner(block, sizes, kind))
    # Owner describes the type by its name. numpy finds a type of another package only by its
    # object, so for such a type Owner is an array of bytes.
    return out if kind.isbuiltin == 1 else out[: block.nbytes].view(kind).reshape(sizes)


def make(call: str, shape: Shape, dtype: DTypeLike, device: Device | None, zero: bool) -> Any:
    """An array in symmetric memory, as `empty` and `zeros` make it."""
    wanted = _device.check_device(call, device)
    out = _array(call, shape, dtype, zero)
    return out if wanted is None else _device.deliver(call, out, dtype, wanted)


@overload
def empty(shape: Shape) -> NDArray[np.float64]: ...
@overload
def empty(shape: Shape, dtype: Kind[S], device: None = None) -> NDArray[S]: ...
@overload
def empty(shape: Shape, dtype: DTypeLike = "float64", device: None = None) -> Array: ...
@overload
def empty(shape: Shape, dtype: DTypeLike = "float64", *, device: Device) -> Any: ...
def empty(shape: Shape, dtype: DTypeLike = "float64", device: Device | None = None) -> Any:
    """Make an array in symmetric memory, with any values.

    The array is numpy's, without a copy; views keep its memory. All PEs make the same arrays in the
    same order. The memory returns to the heap when every PE has dropped or freed the array.

    Parameters
    ----------
    shape : Shape
        The lengths of the dimensions.
    dtype : DTypeLike, optional
        The type of the elements; float64 by default.
    device : Device, optional
        With SHMEM_HEAP=device, the type of the array: "cuda" for a tensor of torch (a DeviceArray
        if torch is not installed), "cupy" for an array of cupy, "gpu" for a DeviceArray.

    Returns
    -------
    numpy.ndarray
        The array, or what `device` selects.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    HeapError
        The symmetric heap has no room.
    DtypeError
        `dtype` is not a type whose elements are plain bytes of one size.
    SizeError
        `shape` is not a shape.
    DeviceError
        The heap is not where `device` needs it.
    PeerError
        A PE is lost, and the job goes on without it.

    Examples
    --------
    >>> box = shmem.empty((2, 3), "float32")
    >>> box.shape
    (2, 3)
    """
    return make("empty", shape, dtype, device, zero=False)


@overload
def zeros(shape: Shape) -> NDArray[np.float64]: ...
@overload
def zeros(shape: Shape, dtype: Kind[S], device: None = None) -> NDArray[S]: ...
@overload
def zeros(shape: Shape, dtype: DTypeLike = "float64", device: None = None) -> Array: ...
@overload
def zeros(shape: Shape, dtype: DTypeLike = "float64", *, device: Device) -> Any: ...
def zeros(shape: Shape, dtype: DTypeLike = "float64", device: Device | None = None) -> Any:
    """Make an array in symmetric memory, all zero on every PE.

    All PEs make the call together, as `empty` says.

    Parameters
    ----------
    shape : Shape
        The lengths of the dimensions.
    dtype : DTypeLike, optional
        The type of the elements; float64 by default.
    device : Device, optional
        With SHMEM_HEAP=device, the type of the array: "cuda" for a tensor of torch (a DeviceArray
        if torch is not installed), "cupy" for an array of cupy, "gpu" for a DeviceArray.

    Returns
    -------
    numpy.ndarray
        The array, or what `device` selects.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    HeapError
        The symmetric heap has no room.
    DtypeError
        `dtype` is not a type whose elements are plain bytes of one size.
    SizeError
        `shape` is not a shape.
    DeviceError
        The heap is not where `device` needs it.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    return make("zeros", shape, dtype, device, zero=True)


@overload
def zeros_like(array: NDArray[S]) -> NDArray[S]: ...
@overload
def zeros_like(array: Any, dtype: Kind[S], device: None = None) -> NDArray[S]: ...
@overload
def zeros_like(array: Any, dtype: DTypeLike = None, device: None = None) -> Array: ...
@overload
def zeros_like(array: Any, dtype: DTypeLike = None, *, device: Device) -> Any: ...
def zeros_like(array: Any, dtype: DTypeLike = None, device: Device | None = None) -> Any:
    """Make an array of zeros in symmetric memory, of the shape of another array.

    All PEs make the call together, as `empty` says.

    Parameters
    ----------
    array : Any
        The other array, or numbers in lists.
    dtype : DTypeLike, optional
        The type of the elements; that of the other array by default.
    device : Device, optional
        With SHMEM_HEAP=device, the type of the array: "cuda" for a tensor of torch (a DeviceArray
        if torch is not installed), "cupy" for an array of cupy, "gpu" for a DeviceArray.

    Returns
    -------
    numpy.ndarray
        The array, or what `device` selects.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    HeapError
        The symmetric heap has no room.
    DtypeError
        `dtype` is not a type whose elements are plain bytes of one size.
    SizeError
        `shape` is not a shape.
    DeviceError
        The heap is not where `device` needs it.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    if not isinstance(array, (list, tuple, int, float, complex)):
        array = as_array("zeros_like", "array", array)
    model = np.asarray(array) if not isinstance(array, np.ndarray) else array
    kind = model.dtype if dtype is None else dtype
    return make("zeros_like", model.shape, kind, device, zero=True)


@overload
def ones(shape: Shape) -> NDArray[np.float64]: ...
@overload
def ones(shape: Shape, dtype: Kind[S], device: None = None) -> NDArray[S]: ...
@overload
def ones(shape: Shape, dtype: DTypeLike = "float64", device: None = None) -> Array: ...
@overload
def ones(shape: Shape, dtype: DTypeLike = "float64", *, device: Device) -> Any: ...
def ones(shape: Shape, dtype: DTypeLike = "float64", device: Device | None = None) -> Any:
    """Make an array in symmetric memory, all one on every PE.

    All PEs make the call together, as `empty` says.

    Parameters
    ----------
    shape : Shape
        The lengths of the dimensions.
    dtype : DTypeLike, optional
        The type of the elements; float64 by default.
    device : Device, optional
        With SHMEM_HEAP=device, the type of the array: "cuda" for a tensor of torch (a DeviceArray
        if torch is not installed), "cupy" for an array of cupy, "gpu" for a DeviceArray.

    Returns
    -------
    numpy.ndarray
        The array, or what `device` selects.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    HeapError
        The symmetric heap has no room.
    DtypeError
        A value does not fit the type, or `dtype` is not a type whose elements are plain bytes of
        one size.
    SizeError
        `shape` is not a shape.
    DeviceError
        The heap is not where `device` needs it.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    given = numbers("ones", "value", 1, resolve("ones", dtype))
    return _filled("ones", shape, given, dtype, device)


@overload
def full(shape: Shape, value: S) -> NDArray[S]: ...
@overload
def full(shape: Shape, value: Any, dtype: Kind[S], device: None = None) -> NDArray[S]: ...
@overload
def full(shape: Shape, value: Any, dtype: DTypeLike = None, device: None = None) -> Array: ...
@overload
def full(shape: Shape, value: Any, dtype: DTypeLike = None, *, device: Device) -> Any: ...
def full(shape: Shape, value: Any, dtype: DTypeLike = None, device: Device | None = None) -> Any:
    """Make an array in symmetric memory, filled with a value on every PE.

    All PEs make the call together, as `empty` says.

    Parameters
    ----------
    shape : Shape
        The lengths of the dimensions.
    value : Any
        The value, the same on every PE.
    dtype : DTypeLike, optional
        The type of the elements; by default that which numpy gives the value.
    device : Device, optional
        With SHMEM_HEAP=device, the type of the array: "cuda" for a tensor of torch (a DeviceArray
        if torch is not installed), "cupy" for an array of cupy, "gpu" for a DeviceArray.

    Returns
    -------
    numpy.ndarray
        The array, or what `device` selects.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    HeapError
        The symmetric heap has no room.
    DtypeError
        A value does not fit the type, or `dtype` is not a type whose elements are plain bytes of
        one size.
    SizeError
        `shape` is not a shape.
    DeviceError
        The heap is not where `device` needs it.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    kind = _kind("full", value, dtype)
    given = numbers("full", "value", value, kind)
    return _filled("full", shape, given, kind if dtype is None else dtype, device)


@overload
def array(values: NDArray[S], dtype: None = None, device: None = None) -> NDArray[S]: ...
@overload
def array(values: Any, dtype: Kind[S], device: None = None) -> NDArray[S]: ...
@overload
def array(values: Any, dtype: DTypeLike = None, device: None = None) -> Array: ...
@overload
def array(values: Any, dtype: DTypeLike = None, *, device: Device) -> Any: ...
def array(values: Any, dtype: DTypeLike = None, device: Device | None = None) -> Any:
    """Make an array in symmetric memory with these values.

    All PEs make the call together, as `empty` says. Shape and dtype are the same on all PEs.

    Parameters
    ----------
    values : Any
        The values, which may differ between PEs.
    dtype : DTypeLike, optional
        The type of the elements; by default that which numpy gives the values.
    device : Device, optional
        With SHMEM_HEAP=device, the type of the array: "cuda" for a tensor of torch (a DeviceArray
        if torch is not installed), "cupy" for an array of cupy, "gpu" for a DeviceArray.

    Returns
    -------
    numpy.ndarray
        The array, or what `device` selects.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    HeapError
        The symmetric heap has no room.
    DtypeError
        A value does not fit the type, or `dtype` is not a type whose elements are plain bytes of
        one size.
    SizeError
        `shape` is not a shape.
    DeviceError
        The heap is not where `device` needs it.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    kind = _kind("array", values, dtype)
    given = numbers("array", "values", values, kind)
    return _filled("array", given.shape, given, kind if dtype is None else dtype, device)


def _kind(call: str, value: Any, dtype: DTypeLike) -> np.dtype[Any]:
    """The dtype that numpy gives a value, unless the program requests one."""
    if dtype is not None:
        return resolve(call, dtype)
    try:
        return resolve(call, np.asarray(value).dtype)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DtypeError(
            call, f"value {brief(value)}", f"numpy makes no array of it: {error}", "pass numbers"
        ) from None


def _filled(call: str, shape: Shape, given: Array, dtype: DTypeLike, device: Device | None) -> Any:
    """An array with these elements.

    It raises all errors about its arguments before the allocation, after which the other PEs
    assume that the array is ready.
    """
    wanted = _device.check_device(call, device)
    sizes = sizes_of(call, shape)
    filled = given
    try:
        if given.ndim:
            filled = np.broadcast_to(given, sizes)
    except ValueError:
        raise SizeError(
            call, describe("value", given), f"does not fill shape {shape!r}", "pass one number"
        ) from None
    out = _array(call, sizes, given.dtype, zero=False)
    if wanted is None:
        out[...] = given
    elif given.ndim:
        flat: Array = np.ascontiguousarray(filled)
        library(call).shmem_putmem(out.ctypes.data, flat.ctypes.data, flat.nbytes, state.pe)
    else:
        _fill(call, out, given)
    # A neighbour may write into the array as soon as it knows that these writes are done.
    library(call).shmem_sync_all()
    settle(call)
    return out if wanted is None else _device.deliver(call, out, dtype, wanted)


def _fill(call: str, array: Array, value: Any) -> None:
    """Writes a value to memory that the CPU does not reach, in pieces of 1 MiB."""
    piece: Array = np.full(min(array.size, (1 << 20) // array.itemsize + 1), value, array.dtype)
    to, end = array.ctypes.data, array.ctypes.data + array.nbytes
    while to < end:
        n = min(end - to, piece.nbytes)
        library(call).shmem_putmem(to, piece.ctypes.data, n, state.pe)
        to += n


def free(array: Memory) -> None:
    """Free an array of this PE, even if other references to it exist.

    The call is not collective: the memory goes back to the heap when every PE has dropped or freed
    the array and the PEs meet in an allocation, `reclaim` or `finalize`. Until then operations
    refuse it as the symmetric operand; after that its place may belong to another array. Do not use
    the array or its views after this call.

    Parameters
    ----------
    array : Memory
        An array that `empty`, a similar function or `register` has made; not a part of it.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        The array is not symmetric, or is only a part of one.
    FreedError
        The array was freed.
    DtypeError
        `array` has no memory.
    """
    with lock:
        library("free")
        array = as_array("free", "array", array)
        address = address_of(array)
        block = _blocks.find(address, 0)
        if block is None:
            raise refuse_address("free", "array", array, address)
        if block is _blocks.NOTHING:
            return  # an array without an address has no block here, and goes when it is dropped
        if block.address != address:
            raise SymmetryError(
                "free",
                describe("array", array),
                "it is a part of another one",
                "pass what shmem.empty, zeros, full or register has made",
            )
        block.freed = True
        leave(block)
