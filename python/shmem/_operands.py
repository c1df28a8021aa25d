"""Operands: the arguments of a program, as addresses that the library can take.

The library ends the job when an address is not symmetric or a range too long, so everything is
checked here first. An array in symmetric memory is recognised by its address: views, arrays of
other packages on the same memory, and slices of slices need no code of their own.
"""

from __future__ import annotations

import sys
from typing import Any, SupportsIndex

import numpy as np

from shmem import _blocks, _device, _spans
from shmem._addresses import address_of, refuse_address
from shmem._describe import brief, describe
from shmem._dtypes import SIGNALS, Array, resolve
from shmem._errors import ArgumentError, DtypeError, LayoutError, SizeError
from shmem._ghosts import Ghost
from shmem._runtime import whole


def as_array(call: str, name: str, operand: Any, *, heap: bool = True) -> Array:
    """An operand's own memory as an array of numpy, or a Ghost; never a copy.

    With heap, memory of a GPU has to be of the GPU that has the symmetric heap.
    """
    if isinstance(operand, np.ndarray):
        return operand
    if isinstance(operand, np.generic):  # numpy would make a new array of it
        raise DtypeError(
            call,
            describe(name, operand),
            "it is a copy of an element",
            "pass the array with index=, or a slice of it: array[i : i + 1]",
        )
    ghost = _device.as_ghost(call, describe(name, operand), operand, heap=heap)
    if ghost is not None:
        return ghost
    try:
        if _is_tensor(operand):
            return _of_torch(operand)
        if hasattr(operand, "__array_interface__"):
            return np.asarray(operand)
        if hasattr(operand, "__dlpack__"):
            return np.from_dlpack(operand)
        return np.asarray(memoryview(operand))
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        raise DtypeError(
            call, describe(name, operand), f"it has no memory to use: {error}", "pass an array"
        ) from None


def _is_tensor(operand: Any) -> bool:
    """Whether an operand is a tensor of torch. A program without torch does not import it here."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(operand, torch.Tensor)


def _of_torch(tensor: Any) -> Array:
    """The memory of a tensor; by DLPack it would be read-only."""
    plain = tensor.detach()
    try:
        out: Array = plain.numpy()
    except TypeError:
        # A type that numpy lacks: the same bytes as a type of that size that it has.
        kind = resolve("operand", str(plain.dtype))
        if kind.itemsize > 2:
            raise  # the tensor has no memory here, for example because it is sparse
        torch = sys.modules["torch"]
        out = plain.view({1: torch.uint8, 2: torch.int16}[kind.itemsize]).numpy().view(kind)
    return out


def as_source(call: str, operand: Any, dtype: np.dtype[Any], name: str = "source") -> Array:
    """An operand that is read: an array of that dtype, or numbers, which become one."""
    if isinstance(operand, (list, tuple, int, float, complex, np.generic)):
        return numbers(call, name, operand, dtype)
    array = as_array(call, name, operand)
    check_dtype(call, name, array, dtype, f"convert it: .astype({str(dtype)!r})")
    return array


def numbers(call: str, name: str, value: Any, dtype: np.dtype[Any]) -> Array:
    """Numbers as an array of that dtype, in which whole numbers keep their values.

    numpy would drop parts that do not fit the type: a fraction, the upper bits of its own integers,
    and the imaginary part of its own complex numbers. It makes large numbers infinite and None NaN.
    """
    if isinstance(value, np.generic) and value.dtype == dtype and dtype.kind in "iufc":
        return np.asarray(value)
    try:
        if dtype.kind in "fc" and not (
            type(value) in (float, int) and abs(value) <= _SMALL  # numpy's own method takes 4 us
        ):
            return _floats(value, dtype)
        if dtype.kind not in "iu":
            out: Array = np.asarray(value, dtype=dtype)
            if dtype.kind in "SUmM" and not _is_all(out, value):
                raise ValueError("some of it would be cut off")
            return out
        if type(value) is int:  # by itself: errstate takes 1 us
            out = np.asarray(value, dtype=dtype)
            same = out.item() == value
        else:
            with np.errstate(invalid="ignore"):  # an invalid number is refused below
                out = np.asarray(value, dtype=dtype)
            same = np.array_equal(out, value)
    except (TypeError, ValueError, OverflowError) as error:
        raise DtypeError(
            call, f"{name} {brief(value)}", f"it is not of {dtype}: {error}", "convert it"
        ) from None
    if not same:
        raise DtypeError(
            call,
            f"{name} {brief(value)}",
            f"{dtype} has no such number",
            "round it, or use a dtype that has it",
        )
    return out


_SMALL = 65504.0  # the greatest float16: every floating-point type can represent it


def _floats(value: Any, dtype: np.dtype[Any]) -> Array:
    """value as floating-point or complex numbers; an error if numpy would change one silently."""
    kind = np.asarray(value).dtype.kind
    if kind == "c" and dtype.kind == "f":
        raise TypeError("it is complex")
    if kind in "SUmM":  # numpy would read numbers in texts
        raise TypeError("it has no numbers")
    with np.errstate(over="ignore"):  # found below, also where numpy does not warn
        out: Array = np.asarray(value, dtype=dtype)
    endless = np.isinf(out)
    # Only an infinity of value itself may be one in out. "G" is numpy's widest complex type.
    if endless.any() and not np.isinf(np.asarray(value, "G"))[endless].all():
        raise OverflowError("a number is too large")
    if np.isnan(out).any() and any(x is None for x in np.asarray(value, object).flat):
        raise TypeError("None is not a number")
    return out


def _is_all(out: Array, value: Any) -> bool:
    """Whether texts and times keep their values: numpy shortens texts and rounds times."""
    given, kind = np.asarray(value), out.dtype.kind
    if kind in "SU":
        return np.array_equal(given.astype(kind), out)
    # A number is one in out's own unit.
    return given.dtype.kind in "iu" or np.array_equal(given.astype(kind), out, equal_nan=True)


def check_dtype(
    call: str,
    name: str,
    array: Array | _spans.Span,
    dtype: np.dtype[Any],
    remedy: str = "make both of one dtype",
) -> None:
    """Refuses an operand of another type than the other operand's: copies convert nothing."""
    if array.dtype != dtype:
        raise DtypeError(call, describe(name, array), f"the other operand is of {dtype}", remedy)


def symmetric(call: str, name: str, operand: Any) -> tuple[Array, int]:
    """An operand that must be contiguous in symmetric memory, and its address."""
    array = as_array(call, name, operand)
    if not array.flags.c_contiguous:
        raise not_contiguous(call, name, array, _NO_COPY)
    address = address_of(array)
    there = _blocks.place(address, array.nbytes, array.size)
    if there is None:
        raise refuse_address(call, name, array, address)
    return array, there


def symmetric_span(call: str, name: str, operand: Any) -> tuple[Array | _spans.Span, int]:
    """What symmetric returns, with a Span instead of an array for a plain tensor of the GPU."""
    span = _spans.of_tensor(operand)
    if span is not None and _blocks.find(span.address, span.nbytes) is not None:
        return span, span.address
    return symmetric(call, name, operand)


_NO_COPY = "pass one that is; a copy would not be symmetric"


def not_contiguous(
    call: str, name: str, array: Array, remedy: str = "pass a contiguous array or a copy"
) -> LayoutError:
    """The error for an array whose elements are not one after the other in memory, in C order.

    Such an array is a slice with steps, or a transposed array. name says which operand of the
    call it is, remedy what the user can do instead.
    """
    return LayoutError(call, describe(name, array), "it is not contiguous", remedy)


def element(
    call: str, name: str, operand: Any, index: SupportsIndex
) -> tuple[Array | _spans.Span, int]:
    """One element of a contiguous symmetric array: the array, and the element's address."""
    array, address = symmetric_span(call, name, operand)
    size = array.size
    i = whole(index)
    if i is None:
        raise ArgumentError(call, f"index {brief(index)}", "is not an int", "pass an int")
    if i < 0:
        i += size
    if not 0 <= i < size:
        raise SizeError(
            call, describe(name, array), f"it has no element {index}", f"it has {size} elements"
        )
    return array, address + i * array.itemsize


def writable(call: str, name: str, array: Array) -> None:
    """Refuses a read-only array as an operand that is written."""
    if not array.flags.writeable:
        raise LayoutError(
            call, describe(name, array), "it is read-only", "pass an array that can be written"
        )


def signal_word(call: str, signal: Any, index: SupportsIndex) -> int:
    """The address of a signal: of element index of an array of 64-bit integers."""
    array, address = element(call, "signal", signal, index)
    if array.dtype not in SIGNALS:
        raise DtypeError(
            call,
            describe("signal", array),
            "a signal has 8 bytes in the order of this machine",
            "use uint64 or int64",
        )
    return address


def receiver(call: str, name: str, operand: Any, dtype: np.dtype[Any]) -> Array:
    """An array of this PE that can take a value of that dtype."""
    into = as_array(call, name, operand)
    writable(call, name, into)
    if into.dtype != dtype or into.size < 1:
        raise DtypeError(call, name, f"it has no {dtype}", "pass an array of one")
    return into


def check_shapes(call: str, dest: Array | _spans.Span, source: Array | _spans.Span) -> None:
    """Refuses operands of different shapes; leading dimensions of length 1 do not count."""
    if dest.shape != source.shape and _trimmed(dest.shape) != _trimmed(source.shape):
        raise _shapes_differ(call, dest, source)


def fitted(call: str, dest: Array, source: Array) -> Array:
    """source as numpy's `dest[...] = source` broadcasts it to the shape of dest."""
    if source.shape == dest.shape or _trimmed(source.shape) == _trimmed(dest.shape):
        return source
    if isinstance(source, Ghost):
        raise _shapes_differ(call, dest, source)
    extra = max(0, source.ndim - dest.ndim)
    if set(source.shape[:extra]) <= {1}:
        try:
            short = source.reshape(source.shape[extra:])
            return np.ascontiguousarray(np.broadcast_to(short, dest.shape))
        except ValueError:
            pass
    raise _shapes_differ(call, dest, source)


def _trimmed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without its leading dimensions of length 1."""
    first = next((i for i, n in enumerate(shape) if n != 1), len(shape))
    return shape[first:]


def _shapes_differ(call: str, dest: Array | _spans.Span, source: Array | _spans.Span) -> SizeError:
    """The error for a source that cannot be broadcast to dest."""
    return SizeError(
        call,
        f"dest of shape {tuple(dest.shape)} and source of shape {tuple(source.shape)}",
        "numpy would not broadcast the one to the other",
        "pass slices of one shape, for example dest[:n]",
    )
