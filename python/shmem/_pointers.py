"""ptr: another PE's array, if loads and stores reach it."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from shmem._device import DeviceArray
from shmem._dtypes import Array
from shmem._ghosts import Ghost, ghost_at
from shmem._operands import symmetric
from shmem._runtime import check_pe, library


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


def ptr(array: Any, pe: SupportsIndex) -> Any:
    """The same array of another PE, for plain loads and stores; None if they do not reach it.

    For an array in GPU memory the result is a DeviceArray. A PE that waits notices such a store
    later than a change by this package.
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
