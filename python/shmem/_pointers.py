"""ptr: another PE's array, if loads and stores reach it."""

from __future__ import annotations

from typing import Any, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from shmem._device import DeviceArray
from shmem._dtypes import Array
from shmem._ghosts import Ghost, ghost_at
from shmem._operands import symmetric
from shmem._protocols import Memory
from shmem._runtime import check_pe, library

S = TypeVar("S", bound=np.generic)


class _Peer:
    """A peer's memory; it keeps this PE's array, and so the block, alive."""

    def __init__(self, address: int, array: Array) -> None:
        self._array = array
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": (array.nbytes,),
            "typestr": "|u1",
        }


@overload
def ptr(array: NDArray[S], pe: SupportsIndex) -> NDArray[S] | None: ...
@overload
def ptr(array: Memory, pe: SupportsIndex) -> Any: ...
def ptr(array: Memory, pe: SupportsIndex) -> Any:
    """Return the same array of another PE, for plain loads and stores.

    A waiting PE notices such a store later than a change made by this package.

    Parameters
    ----------
    array : Memory
        Contiguous symmetric memory.
    pe : SupportsIndex
        The other PE.

    Returns
    -------
    numpy.ndarray or DeviceArray or None
        The array, on the memory of that PE; a DeviceArray if it is in GPU memory. None if loads and
        stores do not reach the PE.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    PEError
        There is no PE `pe`.
    SymmetryError
        The array is not symmetric.
    FreedError
        The array was freed.
    LayoutError
        The array is not contiguous.
    """
    functions = library("ptr")
    mine, address = symmetric("ptr", "array", array)
    there = functions.shmem_ptr(address, check_pe("ptr", pe))
    if there == 0:
        return None
    if isinstance(mine, Ghost):
        name = array.name if isinstance(array, DeviceArray) else mine.dtype.name
        return DeviceArray(ghost_at(there, mine.shape, mine.dtype, mine), name, peer=True)
    out: Array = np.asarray(_Peer(there, mine)).view(mine.dtype).reshape(mine.shape)
    return out
